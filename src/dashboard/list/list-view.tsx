import type { ComponentType, VNode } from "preact";
import { useState } from "preact/hooks";
import type { ListedSeries, ListPage } from "../../client/client.js";
import { nameOf } from "../address.js";
import { type Fetched, fetchSeries, nextSaveOf, type WantedSeries } from "../fetch-series.js";
import type { Moved } from "../figures.js";
import type { Unit } from "../format.js";
import type { Page, ViewScript } from "../view.js";
import { changeColumns, nameColumn, type Ticks, trendColumn } from "./columns.js";
import { type Entry, type EntryList, type EntryRow, entryOf } from "./entries.js";
import { fetchList, List } from "./list.js";
import { OnlyPoints, pointsEntry } from "./only-points.js";
import type { Column } from "./table.js";

/**
 * A list of entries, the largest first. Each row begins with its name, and ends with its change and its trend. The
 * trends of ticked rows can be seen in one chart.
 */
interface ListDefinition<L extends EntryList> {
  readonly list: L;
  readonly title: string;
  /** Head of the names. */
  readonly head: string;
  /** Unit of the change. */
  readonly unit: Unit;
  /** Order of the list unless another is chosen. */
  readonly usual: string;
  /** Shown instead of a list without entries. */
  readonly Empty: ComponentType<{ readonly title: string }>;
  /** Drawn between the title and the list. */
  readonly Actions?: ComponentType<{ readonly page: Page }>;
  /** Returns the columns between name and change. */
  columns(page: Page, trends: Fetched): readonly Column<EntryRow<L>>[];
  /** Returns the series of the trend of an entry. */
  trend(entry: Entry): WantedSeries;
  /** Returns the other series that its columns show. */
  readonly others?: (entry: Entry, page: Page) => readonly WantedSeries[];
  /** Returns the series that only have points, and so are not in the list. */
  readonly points?: (page: Page) => Promise<ListPage<ListedSeries> | undefined>;
  /** Pause between two loads, ms. By default the view is loaded again after the next save. */
  readonly refreshMs?: number;
}

export interface ListData<L extends EntryList> {
  readonly rows: ListPage<EntryRow<L>>;
  readonly points: ListPage<ListedSeries> | undefined;
  readonly trends: Fetched;
}

/** Pause between two loads of a list without a series, ms. */
const REFRESH_MS = 60_000;

/** Returns the view of a list: a page of it, then the series of its rows. */
export function listView<L extends EntryList>(definition: ListDefinition<L>): ViewScript<ListData<L>> {
  const {
    list,
    title,
    head,
    unit,
    usual,
    Empty,
    Actions,
    columns,
    trend,
    others = () => [],
    points,
    refreshMs,
  } = definition;
  const isEmpty = ({ rows, points }: ListData<L>, page: Page) =>
    rows.meta.total === 0 && !points?.meta.total && page.address.q === undefined;
  return {
    async load(page) {
      const [rows, listed] = await Promise.all([fetchList(list, usual, page), points?.(page)]);
      const entries = rows.data.map(entryOf);
      const wanted = [...entries, ...(listed?.data ?? []).map(pointsEntry)].map(trend);
      const all = [...wanted, ...entries.flatMap((entry) => others(entry, page))];
      const trends = await fetchSeries(
        all.map((series) => ({ ...series, compare: false })),
        page,
      );
      const data = { rows, points: listed, trends };
      const nextSave = refreshMs === undefined ? nextSaveOf(trends.series) : undefined;
      return { data, isEmpty: isEmpty(data, page), nextAt: nextSave ?? page.now + (refreshMs ?? REFRESH_MS) };
    },
    Show({ data, page }): VNode {
      const ticks = useTicks();
      if (isEmpty(data, page)) return <Empty title={title} />;
      const { rows, points: listed, trends } = data;
      const name = nameColumn(head, list, page, ticks);
      const drawn = trendColumn<EntryRow<L> | Entry>(trends, (row) => trend(entryOf(row)));
      return (
        <section class="card">
          <div class="title">
            <h1>{title}</h1>
            {Actions !== undefined && <Actions page={page} />}
          </div>
          <List
            list={list}
            caption={title}
            columns={[
              name,
              ...columns(page, trends),
              ...(changeColumns(unit, page) as Column<EntryRow<L> & Moved>[]),
              drawn,
            ]}
            rows={rows}
            usual={usual}
            actions={
              <ChartTogether names={[...ticks.ticked].map((id) => nameOf(trend({ id, name: id })))} page={page} />
            }
            page={page}
          />
          {listed !== undefined && listed.meta.total > 0 && (
            <OnlyPoints title={title} points={listed} columns={[nameColumn(head, list, page), drawn]} />
          )}
        </section>
      );
    },
  };
}

function useTicks(): Ticks {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const tick = (id: string) => {
    const next = new Set(ticked);
    if (!next.delete(id)) next.add(id);
    setTicked(next);
  };
  return { ticked, tick };
}

/** Leads to one chart of the trends of the ticked rows. */
function ChartTogether({ names, page }: { readonly names: readonly string[]; readonly page: Page }): VNode {
  return (
    <button
      type="button"
      data-key="c"
      disabled={names.length < 2}
      onClick={() => page.go({ view: "explore", series: names })}
    >
      Chart together{names.length > 0 && ` (${names.length})`}
    </button>
  );
}
