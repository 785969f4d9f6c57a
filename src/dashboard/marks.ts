import type { Mark } from "../client/client.js";
import { seriesNamed } from "./address.js";
import type { ChartMark } from "./chart-mark.js";
import type { Series } from "./fetch-series.js";
import { kept } from "./kept.js";
import { datesOf, windowOf } from "./time-window.js";
import type { Page, View } from "./view.js";

/** Marks per request. */
const LIMIT = 1_000;

interface ReadMarks {
  readonly found: readonly Mark[];
  readonly problems: readonly string[];
}

/** Reads the marks for the charts of a view. A failure does not affect the view. */
export async function marksFor(page: Page, { canCompare = false }: View): Promise<ReadMarks> {
  if (!canCompare) return { found: [], problems: [] };
  try {
    return { found: await keptMarks(page), problems: [] };
  } catch (error) {
    page.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { found: [], problems: [`The marks could not be read. ${why}`] };
  }
}

/** Reads the marks of a drawn page again; undefined if they are unchanged or cannot be read. */
export async function changedMarks(page: Page, view: View): Promise<readonly Mark[] | undefined> {
  const read = await marksFor({ ...page, isRefresh: false }, view).catch(() => undefined);
  if (read === undefined || read.problems.length > 0) return undefined;
  return JSON.stringify(read.found) === JSON.stringify(page.marks) ? undefined : read.found;
}

/** Marks from the start of the window on. They have no end, so a later window has them too. */
const keptMarks = kept(async (page): Promise<Mark[]> => {
  const { client, signal } = page;
  // Series of segments have the longest slots, so their window begins first.
  const { startdate } = datesOf(windowOf(page, "segment"));
  const found: Mark[] = [];
  for await (const mark of client.marks({ startdate, limit: LIMIT }, { signal })) found.push(mark);
  return found;
});

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
    .map(({ id, ts, text, dimension, dimension_id }) => ({
      id,
      at: Number(ts),
      text,
      of: dimension_id ?? dimension,
    }))
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at);
}
