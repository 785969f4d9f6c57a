import type { Mark } from "../client/client.js";
import { seriesNamed } from "./address.js";
import { HOUR } from "./duration.js";
import type { Series } from "./fetch-series.js";
import { windowOf } from "./time-window.js";
import type { Page, View } from "./view.js";

/** Marks per request. */
const LIMIT = 1_000;
/** Marks change seldom: a refresh by the timer keeps them for so long, ms. */
const KEPT_MS = 6 * HOUR;

interface ReadMarks {
  /** Instant of the request, Unix ms. */
  readonly at: number;
  readonly found: readonly Mark[];
  readonly problems: readonly string[];
}

/** Returns a function that reads the marks of a view with charts, or keeps them. A failure keeps the last ones. */
export function marksReader() {
  let last: ReadMarks = { at: 0, found: [], problems: [] };
  return async (page: Page, isRefresh: boolean, { canCompare = false }: View): Promise<ReadMarks> => {
    if (!canCompare) return { at: 0, found: [], problems: [] };
    if (isRefresh && page.now - last.at < KEPT_MS) return last;
    try {
      last = { at: page.now, found: await fetchMarks(page), problems: [] };
    } catch (error) {
      page.signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      last = { at: 0, found: last.found, problems: [`The marks are not up to date. ${why}`] };
    }
    return last;
  };
}

/** Marks from the start of the window on. They have no end, so that they are also those of a later window. */
async function fetchMarks({ client, address, now, signal }: Page): Promise<Mark[]> {
  // Series of segments have the longest slots, so their window begins first.
  const { from } = windowOf(address, "segment", now);
  const found: Mark[] = [];
  for await (const mark of client.marks({ startdate: from, limit: LIMIT }, { signal })) found.push(mark);
  return found;
}

/** A mark of a chart. */
export interface ChartMark {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly text: string;
}

/** Returns the marks in the window of a chart, oldest first: marks without a dimension, and marks of its series. */
export function marksOf(series: readonly Series[], marks: readonly Mark[]): ChartMark[] {
  const { from, to } = series[0]?.window ?? { from: 0, to: 0 };
  const names = series.map(({ name }) => seriesNamed(name));
  const concerns = ({ dimension, dimension_id }: Mark) =>
    dimension === undefined ||
    names.some(
      (name) => name?.dimension === dimension && (dimension_id === undefined || name.dimension_id === dimension_id),
    );
  return marks
    .filter(concerns)
    .map(({ id, ts, text }) => ({ id, at: Number(ts), text }))
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at);
}
