import { invalid } from "../../errors.js";
import { type Duration, durationRule, formatDuration, parseDuration } from "../../formats/duration.js";
import { type Instant, instantRule, parseInstant } from "../../formats/instant.js";

/** A requested window. */
export interface RequestedWindow {
  readonly start?: string | number | undefined;
  readonly end?: string | number | undefined;
  readonly range?: string | undefined;
}

/** [from, to), Unix ms, and its length in the form of the response. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  readonly range: string;
  /** Whether both ends were given as absolute instants. */
  readonly isFixed: boolean;
  /** Length of a relative window that ends now, ms, before its start was moved to a bucket boundary. */
  readonly backMs?: number | undefined;
}

const DEFAULT_RANGE: Duration = { text: "2d", unit: "d", ms: 2 * 86_400_000 };

/**
 * Returns the requested window. Without an end it ends now; without a start it is 2 days long. A relative start is
 * moved down to a bucket boundary, so that the first bucket is complete; an absolute instant is exact. Throws if the
 * fields contradict each other.
 */
export function timeWindow(asked: RequestedWindow, grid: BucketGrid, now: number): TimeWindow {
  if (asked.range !== undefined) {
    const field = asked.start !== undefined ? "startdate" : asked.end !== undefined ? "enddate" : undefined;
    if (field !== undefined) throw invalid("range_with_date", "range", `range cannot be combined with ${field}`);
    const range = parseRange(asked.range);
    const from = bucketStart(grid, now - range.ms);
    return { from, to: now, range: range.text, isFixed: false, backMs: range.ms };
  }
  const end = asked.end === undefined ? undefined : readInstant(asked.end, "enddate", now);
  const to = end?.at ?? now;
  const start = asked.start === undefined ? back(to) : readInstant(asked.start, "startdate", now);
  if (to < start.at) throw invalid("end_before_start", "enddate", "The end of the window is before its start");
  if (to === start.at) return { from: to, to, range: formatDuration(0), isFixed: false };
  const from = start.relative ? bucketStart(grid, start.at) : start.at;
  const range = end === undefined && start.ago !== undefined ? start.ago : formatDuration(to - from);
  const isFixed = !start.relative && end !== undefined && !end.relative;
  const backMs = start.ago !== undefined && end === undefined ? now - start.at : undefined;
  return { from, to, range, isFixed, backMs };
}

function back(to: number): Instant {
  return { at: to - DEFAULT_RANGE.ms, relative: true, ago: DEFAULT_RANGE.text };
}

function parseRange(text: string): Duration {
  const range = parseDuration(text.startsWith("now-") ? text.slice(4) : text);
  if (range === undefined) throw invalid("invalid_range", "range", `range must be ${durationRule}`);
  return range;
}

function readInstant(written: string | number, field: string, now: number): Instant {
  const instant = parseInstant(written, now);
  if (instant === undefined) throw invalid("invalid_date", field, `${field} must be ${instantRule}`);
  return instant;
}

/** Origin of the buckets: 1970-01-01T00:00Z, and Monday 1970-01-05 for weeks. */
const FIRST_MONDAY = 4 * 86_400_000;

/** The division of time into buckets. All Unix ms. */
export interface BucketGrid {
  /** Start of one of the buckets; the others start at multiples of `step` from it. */
  readonly origin: number;
  readonly step: number;
}

/** The buckets of an interval. */
export function bucketGrid(interval: Duration): BucketGrid {
  return { origin: interval.unit === "w" ? FIRST_MONDAY : 0, step: interval.ms };
}

/** Returns the start of the bucket that contains an instant. */
export function bucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.floor((ms - origin) / step) * step + origin;
}

/** Returns the start of the first bucket that begins at or after an instant. */
export function nextBucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.ceil((ms - origin) / step) * step + origin;
}
