import { monthOf, startOfMonth } from "./calendar.js";
import type { CalendarSpan, Duration } from "./duration.js";
import { DAY, type TimeZone, utc } from "./time-zone.js";

/** The first Monday since 1970-01-01, from which weeks are counted. */
const FIRST_MONDAY = 4 * DAY;

/** The division of time into buckets. All Unix ms. */
export interface BucketGrid {
  /** Two grids with one key are equal. */
  readonly key: string;
  /** No bucket is longer, ms. */
  readonly longest: number;
  /** Returns the start of the bucket that contains an instant. */
  startOf(at: number): number;
  /** Returns the end of the bucket that contains an instant. */
  endOf(at: number): number;
}

/**
 * Returns the buckets of an interval. Minutes and hours are counted from 1970-01-01T00:00Z; days, weeks, months,
 * quarters and years from the local 1970-01-01 or Monday 1970-01-05, and begin at local midnight.
 */
export function bucketGrid(interval: Duration | CalendarSpan, zone: TimeZone): BucketGrid {
  const { text, unit } = interval;
  const isEven = unit === "m" || unit === "h" || (zone === utc && "ms" in interval);
  const origin = unit === "w" ? FIRST_MONDAY : 0;
  if (isEven) return evenGrid((interval as Duration).ms, { origin, key: text });
  const key = `${text} ${zone.name}`;
  if (!("ms" in interval)) {
    const { months } = interval;
    return localGrid(
      {
        longest: 31 * months * DAY,
        indexOf: (local) => Math.floor(monthOf(local) / months),
        localStart: (index) => startOfMonth(index * months),
      },
      { zone, key },
    );
  }
  const { ms } = interval;
  return localGrid(
    {
      longest: ms,
      indexOf: (local) => Math.floor((local - origin) / ms),
      localStart: (index) => index * ms + origin,
    },
    { zone, key },
  );
}

/** Returns buckets of equal length. */
export function evenGrid(step: number, { origin = 0, key = `${step}` } = {}): BucketGrid {
  return {
    key,
    longest: step,
    startOf: (at) => Math.floor((at - origin) / step) * step + origin,
    endOf: (at) => (Math.floor((at - origin) / step) + 1) * step + origin,
  };
}

/** A division of local time. */
interface LocalBuckets {
  /** No bucket is longer on the clock, ms. */
  readonly longest: number;
  /** Returns the number of the bucket that contains a local time. */
  indexOf(local: number): number;
  localStart(index: number): number;
}

/**
 * Returns buckets that start at the first instant of a local time. A bucket whose dates the zone left out does not
 * exist; after a clock is set back over midnight, the rest of that evening belongs to the new day.
 */
function localGrid(
  { longest, indexOf, localStart }: LocalBuckets,
  { zone, key }: { readonly zone: TimeZone; readonly key: string },
): BucketGrid {
  const find = (at: number) => {
    let index = indexOf(zone.local(at));
    let end = zone.instant(localStart(index + 1));
    while (end <= at) {
      index += 1;
      end = zone.instant(localStart(index + 1));
    }
    return { index, end };
  };
  return {
    key,
    // Each end is moved by less than a day.
    longest: longest + 2 * DAY,
    startOf: (at) => zone.instant(localStart(find(at).index)),
    endOf: (at) => find(at).end,
  };
}

/**
 * Returns the start of each bucket of [start, to), then the end of the last; undefined for more than `most` buckets. A
 * bucket begins at `start`.
 */
export function bucketBounds(grid: BucketGrid, start: number, to: number, most: number): number[] | undefined {
  if ((to - start) / grid.longest > most) return undefined;
  const bounds = [start];
  for (let at = start; at < to; ) {
    if (bounds.length > most) return undefined;
    at = grid.endOf(at);
    bounds.push(at);
  }
  return bounds;
}
