import { type BucketGrid, bucketBounds, bucketGrid, evenGrid } from "../formats/buckets.js";
import { spanBefore } from "../formats/calendar.js";
import { comparedWindows } from "../formats/compared-windows.js";
import { type CalendarSpan, type Duration, parseInterval, parseRange } from "../formats/duration.js";
import { type Address, intervals } from "./address.js";
import { slotOf } from "./dimensions.js";
import { DAY, HOUR, msOf } from "./duration.js";
import type { Zone } from "./format.js";
import { timeZoneOf } from "./zone.js";

/** A window of whole buckets, Unix ms. The last bucket of a window that ends now is unfinished. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  /** Length of a bucket, as the service takes it. */
  readonly interval: string;
  /** Time zone of the buckets, as the service takes it; absent for UTC and for hours, which every zone shares. */
  readonly timezone?: string;
  /** Start of every bucket, in order. */
  readonly buckets: readonly number[];
}

/** The range of an address, seen at an instant (Unix ms) in the zone of the page. */
export interface Viewed {
  readonly address: Address;
  readonly now: number;
  readonly zone: Zone;
}

/** Maximum buckets: more cannot be distinguished on a screen. */
const MAX_BUCKETS = 200;
/** Longest windows with buckets of hours and of days, with the hour by which a clock may change in them. */
const HOURLY = 7 * DAY + HOUR;
const DAILY = 92 * DAY + HOUR;

/** Returns the range [from, to) before it is widened to whole buckets. */
export function spanOf({ address, now, zone }: Viewed): { readonly from: number; readonly to: number } {
  const { from, to } = address;
  if (from !== undefined && to !== undefined) return { from, to };
  const range = parseRange(address.range) as Duration | CalendarSpan;
  return { from: spanBefore(now, range, timeZoneOf(zone)).at, to: now };
}

/**
 * Returns the window of a view for series of one dimension. Its first bucket is whole and contains the start of the
 * range.
 */
export function windowOf(viewed: Viewed, dimension: string): TimeWindow {
  const { from, to } = spanOf(viewed);
  const interval = intervalOf(viewed, dimension);
  const grid = gridOf(interval, viewed.zone);
  const start = grid.startOf(from);
  const end = Math.max(start + 1, viewed.address.to === undefined ? to + 1 : to);
  return windowIn(grid, { start, end, interval, zone: viewed.zone });
}

/**
 * Returns the window before: as many buckets, earlier by the number of complete buckets. So these are compared with as
 * many right before them, and an hour of a range that ends now with the same hour.
 */
export function windowBefore(window: TimeWindow, { now, zone }: Pick<Viewed, "now" | "zone">): TimeWindow {
  const { from, to, interval, buckets } = window;
  const grid = gridOf(interval, zone);
  const { before } = comparedWindows(grid, from, Math.min(to, now));
  const start = before < from ? before : grid.startOf(from - 1);
  let end = start;
  for (let i = buckets.length; i > 0; i -= 1) end = grid.endOf(end);
  return windowIn(grid, { start, end, interval, zone });
}

interface WindowBounds {
  readonly start: number;
  readonly end: number;
  readonly interval: string;
  readonly zone: Zone;
}

function windowIn(grid: BucketGrid, { start, end, interval, zone }: WindowBounds): TimeWindow {
  const bounds = bucketBounds(grid, start, end, Number.POSITIVE_INFINITY) as number[];
  const to = bounds.pop() as number;
  const timezone = zone === "UTC" || interval.endsWith("h") ? {} : { timezone: timeZoneOf(zone).name };
  return { from: start, to, interval, ...timezone, buckets: bounds };
}

/** Returns the buckets of an interval in the zone of the page. */
export function gridOf(interval: string, zone: Zone): BucketGrid {
  return bucketGrid(parseInterval(interval) as Duration | CalendarSpan, timeZoneOf(zone));
}

/** Returns the end of a bucket. */
export function endOf({ buckets, to }: TimeWindow, index: number): number {
  return buckets[index + 1] ?? to;
}

/**
 * The requested interval unless it is shorter than a slot or gives too many buckets. Else hours for up to 7 days, days
 * for up to 13 weeks or three months, and weeks for longer windows.
 */
function intervalOf(viewed: Viewed, dimension: string): string {
  const { interval } = viewed.address;
  const slot = slotOf(dimension);
  const { from, to } = spanOf(viewed);
  const fits = (one: string) => msOf(one) >= slot && (to - from) / msOf(one) <= MAX_BUCKETS;
  if (interval !== undefined && fits(interval)) return interval;
  const shortest = to - from <= HOURLY ? "1h" : to - from <= DAILY ? "1d" : "1w";
  return intervals.slice(intervals.indexOf(shortest)).find(fits) ?? "1mo";
}

/** Maximum age of a value that counts as the newest one of a window, days before the window's end. */
const RECENT_DAYS = 28;

/**
 * Returns the hours before the end of the window of a view, of the last `RECENT_DAYS`. The newest value in them is the
 * value of the window.
 */
export function newestWindow(viewed: Viewed, dimension: string): TimeWindow {
  const end = Math.min(windowOf(viewed, dimension).to, Math.ceil(viewed.now / HOUR) * HOUR);
  return hourlyWindow(end - RECENT_DAYS * DAY, end);
}

/** Start and end of a window as the service takes them, RFC 3339. */
export function datesOf({ from, to }: Pick<TimeWindow, "from" | "to">) {
  return { startdate: new Date(from).toISOString(), enddate: new Date(to).toISOString() };
}

/** Whole hours of a window; the hour in which it starts is whole, the hour in which it ends is left out. */
export function hourlyWindow(from: number, to: number): TimeWindow {
  const grid = evenGrid(HOUR);
  return windowIn(grid, { start: grid.startOf(from), end: grid.startOf(to), interval: "1h", zone: "UTC" });
}
