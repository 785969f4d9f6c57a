import type { Aggregation } from "./dimensions/dimension.js";

/** Consecutive buckets. All Unix ms but `count`. */
export interface Buckets {
  /** Start of the first. */
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/**
 * One value for each bucket from the slots that start in it; NaN for a bucket without a saved slot. `from` is the start of
 * the first slot; slots outside of the buckets are not looked at. A sum that leaves the range of a double stays at its end.
 */
export function aggregate(
  slots: Float64Array,
  from: number,
  slotMs: number,
  { start, step, count }: Buckets,
  aggregation: Aggregation,
): Float64Array {
  const values = new Float64Array(count).fill(Number.NaN);
  const combine = combiners[aggregation];
  const first = Math.max(0, Math.ceil((start - from) / slotMs));
  const last = Math.min(slots.length, Math.ceil((start + count * step - from) / slotMs));
  for (let i = first; i < last; i += 1) {
    const value = slots[i] as number;
    if (Number.isNaN(value)) continue;
    const bucket = Math.floor((from + i * slotMs - start) / step);
    const before = values[bucket] as number;
    values[bucket] = Number.isNaN(before) ? value : combine(before, value);
  }
  return values;
}

const combiners: Readonly<Record<Aggregation, (a: number, b: number) => number>> = {
  sum: (a, b) => finite(a + b),
  max: (a, b) => (a > b ? a : b),
  min: (a, b) => (a < b ? a : b),
};

/** Every aggregation there is. */
export const aggregations = Object.keys(combiners) as readonly Aggregation[];

/** The number, or the nearest one that JSON can carry. */
export function finite(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}

/** Puts 0 into the first `count` buckets where they are empty. */
export function fillEmpty(values: Float64Array, count: number): void {
  for (let i = 0; i < count; i += 1) if (Number.isNaN(values[i])) values[i] = 0;
}
