import { finite } from "./buckets.js";

/**
 * Numerator divided by denominator, bucket by bucket. NaN where the denominator is absent (NaN) or 0; an absent numerator
 * counts as 0.
 */
export function ratio(numerators: Float64Array, denominators: Float64Array): Float64Array {
  return denominators.map((denominator, i) => {
    if (Number.isNaN(denominator) || denominator === 0) return Number.NaN;
    const numerator = numerators[i] as number;
    return Number.isNaN(numerator) ? 0 : finite(numerator / denominator);
  });
}
