import type { Duration } from "../formats/duration.js";

/** Buckets are counted from here: 1970-01-01T00:00Z, and Monday 1970-01-05 for weeks. */
const FIRST_MONDAY = 4 * 86_400_000;

/** How time is cut into buckets. All Unix ms. */
export interface BucketGrid {
  /** Start of one of the buckets; the others lie at multiples of `step` from it. */
  readonly origin: number;
  readonly step: number;
}

/** The buckets of an interval. */
export function bucketGrid(interval: Duration): BucketGrid {
  return { origin: interval.unit === "w" ? FIRST_MONDAY : 0, step: interval.ms };
}

/** Start of the bucket that holds a moment. */
export function bucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.floor((ms - origin) / step) * step + origin;
}

/** Start of the first bucket that begins at or after a moment. */
export function nextBucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.ceil((ms - origin) / step) * step + origin;
}
