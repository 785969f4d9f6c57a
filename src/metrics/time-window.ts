import { invalid } from "../errors.js";
import { type Duration, durationRule, formatDuration, parseDuration } from "../formats/duration.js";
import { type Instant, instantRule, parseInstant } from "../formats/instant.js";
import { type BucketGrid, bucketStart } from "./bucket-grid.js";

/** The window as it was asked for. */
export interface AskedWindow {
  readonly start?: string | number | undefined;
  readonly end?: string | number | undefined;
  readonly range?: string | undefined;
}

/** [from, to), Unix ms, and its length as the answer names it. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  readonly range: string;
  /** From this instant on (Unix ms) the same words may mean buckets or a range that differ; each instant may be the last for some. */
  readonly standsUntil: number;
}

const DEFAULT_RANGE: Duration = { text: "2d", unit: "d", ms: 2 * 86_400_000 };

/**
 * The window asked for. Without an end it ends now; without a start it is 2 days long. A relative start is moved down to a
 * bucket boundary, so that the first bucket is whole; an absolute instant is exact. Throws when the words contradict.
 */
export function timeWindow(asked: AskedWindow, grid: BucketGrid, now: number): TimeWindow {
  if (asked.range !== undefined) {
    const field = asked.start !== undefined ? "start" : asked.end !== undefined ? "end" : undefined;
    if (field !== undefined) throw invalid("range_with_date", "range", `range cannot be combined with {${field}}`);
    const range = parseRange(asked.range);
    const from = bucketStart(grid, now - range.ms);
    return { from, to: now, range: range.text, standsUntil: from + grid.step + range.ms };
  }
  const end = asked.end === undefined ? undefined : readInstant(asked.end, "end", now);
  const to = end?.at ?? now;
  const start = asked.start === undefined ? back(to) : readInstant(asked.start, "start", now);
  if (to < start.at) throw invalid("end_before_start", "end", "The end of the window is before its start");
  if (to === start.at) return { from: to, to, range: formatDuration(0), standsUntil: 0 };
  const from = start.relative ? bucketStart(grid, start.at) : start.at;
  const range = end === undefined && start.ago !== undefined ? start.ago : formatDuration(to - from);
  return { from, to, range, standsUntil: standsUntil(start, end, from, grid, now) };
}

/** A window between fixed instants stands for ever, one that is counted back from now until it takes its next step. */
function standsUntil(start: Instant, end: Instant | undefined, from: number, grid: BucketGrid, now: number): number {
  if (!start.relative && end !== undefined && !end.relative) return Number.POSITIVE_INFINITY;
  return start.ago !== undefined && end === undefined ? from + grid.step + (now - start.at) : 0;
}

function back(to: number): Instant {
  return { at: to - DEFAULT_RANGE.ms, relative: true, ago: DEFAULT_RANGE.text };
}

function parseRange(text: string): Duration {
  const range = parseDuration(text.startsWith("now-") ? text.slice(4) : text);
  if (range === undefined) throw invalid("bad_range", "range", `${durationRule}, is expected`);
  return range;
}

function readInstant(written: string | number, field: string, now: number): Instant {
  const instant = parseInstant(written, now);
  if (instant === undefined) throw invalid("bad_date", field, `${instantRule} is expected`);
  return instant;
}
