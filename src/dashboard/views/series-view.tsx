import type { ComponentChildren, VNode } from "preact";
import { type Fetched, fetchWithRecent, nextSaveOf, type WantedSeries } from "../fetch-series.js";
import { comparedIn } from "../figures.js";
import { type ChangeOf, ChangePill } from "../list/pill.js";
import { type Figure, Head } from "../page/head.js";
import { rangeWords } from "../range.js";
import { newestWindow, type TimeWindow } from "../time-window.js";
import type { Page, View, ViewScript } from "../view.js";
import { hasPoints } from "./has-points.js";
import { Share } from "./share.js";

/** One thing with series of its own, as the parts of its view draw it. */
export interface Thing<R, M> {
  readonly id: string;
  /** Its row in a list; undefined if it only has points. */
  readonly row: R | undefined;
  readonly more: M;
  /** Newest values, whatever the range is. */
  readonly recent: Fetched;
  readonly fetched: Fetched;
  readonly page: Page;
}

/** The view of one thing: its list, its name, its newest values as facts, then charts and other cards. */
interface SeriesDefinition<R, M> {
  readonly dimension: string;
  /** The view of the list that contains it. */
  readonly list: Pick<View, "name" | "label">;
  /** Message about an unknown id, before the id: `no segment with the id`. */
  readonly unknown: string;
  find(page: Page, id: string): Promise<R | undefined>;
  /** Returns its name if that is not its id. */
  readonly name?: (row: R) => string;
  wanted(id: string, row: R | undefined): readonly WantedSeries[];
  /** Reads further data of its cards. */
  more(page: Page, id: string, row: R | undefined): Promise<M>;
  /** Returns the window of the newest values. Default: the window of lists. */
  readonly recentWindow?: (page: Page) => TimeWindow;
  /** Draws links next to the link to its list. */
  readonly path?: (thing: Thing<R, M>) => ComponentChildren;
  /** Draws the part of its head below its name. */
  readonly about?: (thing: Thing<R, M>) => ComponentChildren;
  /** Draws the part of its head below its figure. */
  readonly below?: (thing: Thing<R, M>) => ComponentChildren;
  /** Returns its largest figure, and what that counts. */
  readonly figure?: (thing: Thing<R, M>) => Figure | undefined;
  /** Returns the change of the figure in the window. */
  readonly change?: (thing: Thing<R, M>) => ChangeOf | undefined;
  /** Returns names and values. */
  readonly facts?: (thing: Thing<R, M>) => readonly (readonly [name: string, value: ComponentChildren])[];
  /** Draws the cards below the head. */
  cards(thing: Thing<R, M>): ComponentChildren;
}

export type SeriesData<R, M> = Omit<Thing<R, M>, "id" | "page">;

/** Pause between two loads of a thing without a series, ms. */
const REFRESH_MS = 60_000;

export function seriesView<R, M>(definition: SeriesDefinition<R, M>): ViewScript<SeriesData<R, M>> {
  const { dimension, list, unknown, find, name, wanted, more, recentWindow, path, about, below } = definition;
  const { figure, change, facts, cards } = definition;
  return {
    async load(page) {
      const id = page.address.id as string;
      const row = await find(page, id);
      const window = recentWindow?.(page) ?? newestWindow(page, dimension);
      const [{ recent, fetched }, read] = await Promise.all([
        fetchWithRecent(wanted(id, row), page, window),
        more(page, id, row),
      ]);
      const isKnown = row !== undefined || (await hasPoints(page, dimension, id));
      return {
        data: { row, more: read, recent, fetched },
        title: row && name?.(row),
        nextAt: nextSaveOf(fetched.series) ?? page.now + REFRESH_MS,
        problems: isKnown ? [] : [`The service has ${unknown} “${id}”.`],
      };
    },
    Show({ data, page }): VNode {
      const id = page.address.id as string;
      const thing = { ...data, id, page };
      const { row } = data;
      const found = change?.(thing);
      const { now, before } = found === undefined ? {} : comparedIn(found);
      const moved = now == null || before == null ? undefined : found;
      return (
        <>
          <Head
            page={page}
            crumb={{ label: list.label, to: { view: list.name } }}
            path={path?.(thing)}
            title={(row && name?.(row)) ?? id}
            note={about?.(thing)}
            figure={figure?.(thing)}
            change={moved && <Change moved={moved} page={page} />}
            facts={facts?.(thing) ?? []}
            actions={<Share series={data.fetched.series} wanted={wanted(id, row)} page={page} />}
          >
            {below?.(thing)}
          </Head>
          {cards(thing)}
        </>
      );
    },
  };
}

/** A change, and in which time: since data begin, or in the window of the page. */
function Change({ moved, page }: { readonly moved: ChangeOf; readonly page: Page }): VNode {
  return (
    <>
      <ChangePill change={moved} zone={page.zone} />
      {moved.since === undefined && ` in ${rangeWords(page)}`}
    </>
  );
}
