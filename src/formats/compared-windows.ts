import type { BucketGrid } from "./buckets.js";

/** Two windows of as many buckets, one right after the other: [before, start) and [start, end). All Unix ms. */
export interface ComparedWindows {
  readonly before: number;
  readonly start: number;
  readonly end: number;
}

/** Returns the complete buckets of [start, to), and as many before them. A bucket begins at `start`. */
export function comparedWindows(grid: BucketGrid, start: number, to: number): ComparedWindows {
  let [before, end] = [start, start];
  for (let next = grid.endOf(end); next <= to; next = grid.endOf(end)) {
    end = next;
    before = grid.startOf(before - 1);
  }
  return { before, start, end };
}

/**
 * Returns the first slot of the window before that a change of counts compares with the window: the one at `start`, or
 * the first one with a value if the series begins later. Slots before `start` only show that the series has begun: from
 * then on a slot without a value has no messages. Undefined if there is no value before `end`, the end of the window
 * before.
 */
export function firstCompared(values: ArrayLike<number | null>, start: number, end: number): number | undefined {
  for (let at = 0; at < Math.min(end, values.length); at += 1) {
    const value = values[at];
    if (value != null && !Number.isNaN(value)) return Math.max(at, start);
  }
  return undefined;
}
