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

/** Time before the windows in which a value shows that a series has begun, ms. */
export const SHOWS_BEGIN_MS = 28 * 86_400_000;

/**
 * Returns the parts of both windows that a change of counts compares, if the first value of the series is in the slot
 * or interval that starts at `begun`. From then on a slot without a value has no messages. An interval that is longer
 * than a slot can lack the slots before the first value, so it is not compared. Undefined if nothing is left.
 */
export function sinceBegun(
  grid: BucketGrid,
  { before, start, end }: ComparedWindows,
  begun: number,
  slotMs: number,
): ComparedWindows | undefined {
  let [earlier, since] = [before, start];
  if (grid.longest <= slotMs) {
    const late = Math.max(0, begun - before);
    [earlier, since] = [before + late, start + late];
  } else {
    while (earlier <= begun) [earlier, since] = [grid.endOf(earlier), grid.endOf(since)];
  }
  return since < end ? { before: earlier, start: since, end } : undefined;
}
