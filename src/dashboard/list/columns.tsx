import type { VNode } from "preact";
import { Sparkline } from "../chart/sparkline.js";
import type { Fetched, WantedSeries } from "../fetch-series.js";
import type { Moved } from "../figures.js";
import type { Unit } from "../format.js";
import { Link } from "../page/link.js";
import { rangeWords } from "../range.js";
import type { Page } from "../view.js";
import { type Entry, type EntryList, type EntryRow, entryOf } from "./entries.js";
import { Difference, Pill } from "./pill.js";
import type { Column } from "./table.js";
import { seriesOf } from "./wanted.js";

/** Rows that are ticked, by their ids. */
export interface Ticks {
  readonly ticked: ReadonlySet<string>;
  tick(id: string): void;
}

/** The name of an entry on one line, which leads to its page; with `ticks` it has a box to tick. */
export function nameColumn<L extends EntryList>(
  head: string,
  list: L,
  page: Page,
  ticks?: Ticks,
): Column<EntryRow<L> | Entry> {
  return {
    head,
    sort: "name",
    cell: (row) => {
      const { id, name } = entryOf(row);
      return (
        <span class="name">
          <NameLink name={name} to={{ view: list, id }} page={page} />
          {ticks !== undefined && (
            <label>
              <input
                type="checkbox"
                aria-label={`Select ${name}`}
                checked={ticks.ticked.has(id)}
                onChange={() => ticks.tick(id)}
              />
            </label>
          )}
        </span>
      );
    },
  };
}

interface NameLinkProps {
  readonly name: string;
  readonly to: Parameters<typeof Link>[0]["to"];
  readonly page: Page;
}

/** A link with a name of any length and script, which is cut to one line and whole in its title. */
export function NameLink({ name, to, page }: NameLinkProps): VNode {
  return (
    <Link to={to} page={page}>
      <bdi class="cut" title={name}>
        {name}
      </bdi>
    </Link>
  );
}

/**
 * The absolute and the relative change of a row in the window of the page. One of them is a pill: of a quantity the
 * relative one, of a rate the points.
 */
export function changeColumns(unit: Unit, page: Page): Column<Moved>[] {
  const isRate = unit === "rate";
  const pill = (row: Moved) => <Pill change={{ ...row, unit }} zone={page.zone} />;
  const other = (row: Moved) => <Difference change={{ ...row, unit }} zone={page.zone} />;
  const [asPill, asOther] = [{ cell: pill }, { cell: other, phone: "none" }] as const;
  return [
    { head: `Change, ${rangeWords(page)}`, sort: "difference", isNumber: true, ...(isRate ? asPill : asOther) },
    { head: "Change, %", sort: "change", isNumber: true, ...(isRate ? asOther : asPill) },
  ];
}

/** A small drawing of the series of a row. Each has its own scale, which begins at 0. */
export function trendColumn<R>(trends: Fetched, wanted: (row: R) => WantedSeries): Column<R> {
  return { head: "Trend from 0", cell: (row) => <Sparkline series={seriesOf(trends, wanted(row))} /> };
}
