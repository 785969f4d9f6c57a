/** Buckets before its own that a moving average looks at. */
export const SMOOTH_LEAD = 2;

/** The mean of each bucket and the two before it, absent ones (NaN) left out. An absent bucket stays absent. */
export function smooth(values: Float64Array): Float64Array {
  return values.map((value, i) => {
    if (Number.isNaN(value)) return Number.NaN;
    return mean(values.slice(Math.max(0, i - SMOOTH_LEAD), i + 1).filter((neighbour) => !Number.isNaN(neighbour)));
  });
}

function mean(values: Float64Array): number {
  const sum = values.reduce((total, value) => total + value, 0);
  if (Number.isFinite(sum)) return sum / values.length;
  return values.reduce((total, value) => total + value / values.length, 0);
}
