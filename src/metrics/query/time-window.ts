import { invalid } from "../../errors.js";
import type { BucketGrid } from "../../formats/buckets.js";
import { spanBefore } from "../../formats/calendar.js";
import { type CalendarSpan, type Duration, formatDuration, parseRange, rangeRule } from "../../formats/duration.js";
import { type Instant, instantRule, parseInstant } from "../../formats/instant.js";
import { type TimeZone, utc } from "../../formats/time-zone.js";

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
  /** Until then (Unix ms) later windows have the same `backMs`. */
  readonly steadyUntil?: number | undefined;
}

const DEFAULT_RANGE: Duration = { text: "2d", unit: "d", ms: 2 * 86_400_000 };

/**
 * Returns the requested window. Dates are local dates of the zone, and its clock counts months and years. Without an
 * end it ends now; without a start it is 2 days long. A relative start is moved down to a bucket boundary, so that the
 * first bucket is complete; an absolute instant is exact. Throws if the fields contradict each other.
 */
export function timeWindow(
  asked: RequestedWindow,
  { grid, zone = utc }: { readonly grid: BucketGrid; readonly zone?: TimeZone },
  now: number,
): TimeWindow {
  if (asked.range !== undefined) {
    const field = asked.start !== undefined ? "startdate" : asked.end !== undefined ? "enddate" : undefined;
    if (field !== undefined) throw invalid("range_with_date", "range", `range cannot be combined with ${field}`);
    const range = readRange(asked.range);
    const { at, steadyUntil } = spanBefore(now, range, zone);
    return { from: grid.startOf(at), to: now, range: range.text, isFixed: false, backMs: now - at, steadyUntil };
  }
  const end = asked.end === undefined ? undefined : readInstant(asked.end, "enddate", now, zone);
  const to = end?.at ?? now;
  const start = asked.start === undefined ? back(to) : readInstant(asked.start, "startdate", now, zone);
  if (to < start.at) throw invalid("end_before_start", "enddate", "The end of the window is before its start");
  if (to === start.at) return { from: to, to, range: formatDuration(0), isFixed: false };
  const from = start.relative ? grid.startOf(start.at) : start.at;
  const range = end === undefined && start.ago !== undefined ? start.ago : formatDuration(to - from);
  const isFixed = !start.relative && end !== undefined && !end.relative;
  const backMs = start.ago !== undefined && end === undefined ? now - start.at : undefined;
  return { from, to, range, isFixed, backMs, steadyUntil: start.steadyUntil };
}

function back(to: number): Instant {
  return { at: to - DEFAULT_RANGE.ms, relative: true, ago: DEFAULT_RANGE.text };
}

function readRange(text: string): Duration | CalendarSpan {
  const range = parseRange(text.startsWith("now-") ? text.slice(4) : text);
  if (range === undefined) throw invalid("invalid_range", "range", `range must be ${rangeRule}`);
  return range;
}

/** Parses the instant in a field of a request. Throws if it is not one. */
export function readInstant(written: string | number, field: string, now: number, zone?: TimeZone): Instant {
  const instant = parseInstant(written, now, zone);
  if (instant === undefined) throw invalid("invalid_date", field, `${field} must be ${instantRule}`);
  return instant;
}
