import { type Address, intervals, lengthOf } from "./address.js";
import { slotOf } from "./dimensions.js";
import { DAY, HOUR, msOf } from "./duration.js";

/** A window of whole buckets, Unix ms. The last bucket of a window that ends now is unfinished. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  /** Length of a bucket, as a duration and in ms. */
  readonly interval: string;
  readonly step: number;
  /** Start of every bucket, in order. */
  readonly buckets: readonly number[];
}

/** Maximum buckets: more cannot be distinguished on a screen. */
const MAX_BUCKETS = 200;

/**
 * Returns the window of an address for series of one dimension. Its first bucket is whole and contains the start of the
 * range.
 */
export function windowOf(address: Address, dimension: string, now: number): TimeWindow {
  const interval = intervalOf(address, dimension);
  const step = msOf(interval);
  const end = address.to ?? now;
  const from = floorTo(end - lengthOf(address), interval);
  const to = Math.max(from + step, ceilTo(address.to ?? now + 1, interval));
  return { from, to, interval, step, buckets: bucketsOf(from, to, step) };
}

/**
 * Returns the window before: the same buckets, moved back by the length of the range in whole buckets. The open bucket
 * of a window that ends now is not counted, so that an hour is compared with the same hour.
 */
export function windowBefore(window: TimeWindow, address: Address): TimeWindow {
  const earlier = Math.ceil(lengthOf(address) / window.step) * window.step;
  return {
    ...window,
    from: window.from - earlier,
    to: window.to - earlier,
    buckets: window.buckets.map((ts) => ts - earlier),
  };
}

/** The requested interval unless it is shorter than a slot, else the shortest one that gives at most 200 buckets. */
function intervalOf(address: Address, dimension: string): string {
  const slot = slotOf(dimension);
  const fits = (interval: string) => msOf(interval) >= slot && lengthOf(address) / msOf(interval) <= MAX_BUCKETS;
  if (address.interval !== undefined && fits(address.interval)) return address.interval;
  return intervals.find(fits) ?? "1w";
}

/** Weeks are counted from Monday 1970-01-05, all other buckets from 1970-01-01T00:00Z. */
const originOf = (interval: string) => (interval.endsWith("w") ? 4 * DAY : 0);

function floorTo(ms: number, interval: string): number {
  const step = msOf(interval);
  const origin = originOf(interval);
  return Math.floor((ms - origin) / step) * step + origin;
}

function ceilTo(ms: number, interval: string): number {
  const floor = floorTo(ms, interval);
  return floor === ms ? ms : floor + msOf(interval);
}

function bucketsOf(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.round((to - from) / step) }, (_, index) => from + index * step);
}

/** Maximum age of a value that counts as the newest one of a window, days before the window's end. */
const RECENT_DAYS = 28;

/**
 * Returns the hours before the end of the window of an address, of the last `RECENT_DAYS`. The newest value in them is
 * the value of the window.
 */
export function newestWindow(address: Address, dimension: string, now: number): TimeWindow {
  const end = Math.min(windowOf(address, dimension, now).to, Math.ceil(now / HOUR) * HOUR);
  return hourlyWindow(end - RECENT_DAYS * DAY, end);
}

/** Start and end of a window as the service takes them, RFC 3339. */
export function datesOf({ from, to }: Pick<TimeWindow, "from" | "to">) {
  return { startdate: new Date(from).toISOString(), enddate: new Date(to).toISOString() };
}

/** Whole hours of a window; the hour in which it starts is whole, the hour in which it ends is left out. */
export function hourlyWindow(from: number, to: number): TimeWindow {
  const [first, end] = [Math.floor(from / HOUR) * HOUR, Math.floor(to / HOUR) * HOUR];
  return { from: first, to: end, interval: "1h", step: HOUR, buckets: bucketsOf(first, end, HOUR) };
}
