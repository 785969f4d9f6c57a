import type { Aggregation } from "../dimensions.js";
import { finite, type SlotColumn } from "../series.js";
import { type Buckets, countOf, type SeriesPlan, SMOOTH_LEAD } from "./plan.js";

/**
 * Computes a value for each bucket of a plan from the columns of its stored series; NaN if there is none. Overwrites
 * the columns.
 */
export function bucketValues(plan: SeriesPlan, columns: readonly Pick<SlotColumn, "from" | "values">[]): Float64Array {
  const { request, from, buckets, lead, filled } = plan;
  const { slotMs } = request.dimension;
  const first = buckets[lead] as number;
  const aggregated = columns.map((column) => {
    const slotAt = (ms: number) => Math.max(0, Math.ceil((ms - column.from) / slotMs));
    // The slots between the start of the first bucket and the start of the window were not requested.
    if (lead > 0) column.values.fill(Number.NaN, slotAt(first), slotAt(from));
    return aggregate(column.values, column.from, slotMs, buckets, request.aggregation);
  });
  const [numerators, denominators] = aggregated as [Float64Array, Float64Array | undefined];
  const values = denominators === undefined ? numerators : ratio(numerators, denominators);
  fillEmpty(values, filled);
  return lead > 0 ? smooth(values) : values;
}

/**
 * Aggregates the slots that start in each bucket; NaN for a bucket without a saved slot. `from` is the start of the
 * first slot; slots outside the buckets are ignored. A sum beyond the range of a double is clamped.
 */
export function aggregate(
  slots: Float64Array,
  from: number,
  slotMs: number,
  buckets: Buckets,
  aggregation: Aggregation,
): Float64Array {
  const values = new Float64Array(countOf(buckets)).fill(Number.NaN);
  const combine = combiners[aggregation];
  const slotAt = (ms: number) => Math.min(slots.length, Math.max(0, Math.ceil((ms - from) / slotMs)));
  let i = slotAt(buckets[0] as number);
  for (let bucket = 0; i < slots.length && bucket < values.length; bucket += 1) {
    const end = slotAt(buckets[bucket + 1] as number);
    let result = Number.NaN;
    for (; i < end; i += 1) {
      const value = slots[i] as number;
      if (!Number.isNaN(value)) result = Number.isNaN(result) ? value : combine(result, value);
    }
    values[bucket] = result;
  }
  return values;
}

const combiners: Readonly<Record<Aggregation, (a: number, b: number) => number>> = {
  sum: (a, b) => finite(a + b),
  max: (a, b) => (a > b ? a : b),
  min: (a, b) => (a < b ? a : b),
};

/** Sets the first `count` buckets to 0 if they are empty. */
export function fillEmpty(values: Float64Array, count: number): void {
  for (let i = 0; i < count; i += 1) if (Number.isNaN(values[i])) values[i] = 0;
}

/**
 * Numerator divided by denominator, bucket by bucket. NaN where the denominator is absent (NaN) or 0; an absent
 * numerator counts as 0.
 */
export function ratio(numerators: Float64Array, denominators: Float64Array): Float64Array {
  return denominators.map((denominator, i) => ratioOf(numerators[i] as number, denominator));
}

/** Like `ratio`, for one bucket or slot. */
export function ratioOf(numerator: number, denominator: number): number {
  if (Number.isNaN(denominator) || denominator === 0) return Number.NaN;
  return Number.isNaN(numerator) ? 0 : finite(numerator / denominator);
}

/** Returns the mean of each bucket and the two before it, ignoring absent ones (NaN). An absent bucket stays absent. */
export function smooth(values: Float64Array): Float64Array {
  return values.map((value, i) => {
    if (Number.isNaN(value)) return Number.NaN;
    return mean(values.slice(Math.max(0, i - SMOOTH_LEAD), i + 1).filter((neighbour) => !Number.isNaN(neighbour)));
  });
}

function mean(values: Float64Array): number {
  const sum = values.reduce((total, value) => total + value, 0);
  if (Number.isFinite(sum)) return sum / values.length;
  // A quarter of each value: the sum of up to three stays finite.
  return finite((values.reduce((total, value) => total + value / 4, 0) / values.length) * 4);
}
