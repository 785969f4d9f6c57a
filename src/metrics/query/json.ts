import type { Buckets } from "./plan.js";

/**
 * Returns the JSON array of the points from the bucket `lead` on, `[{"value":…,"ts":"…"},…]`, without buckets of NaN.
 */
export function pointsJson(values: Float64Array, buckets: Buckets, lead: number): Buffer {
  const ends = pointEnds(buckets);
  let json = "";
  // Serialized by hand: two fields per point, numbers only, and the hottest code of the service.
  for (let i = lead; i < values.length; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) json += `,{"value":${value}${ends[i]}`;
  }
  return Buffer.from(`[${json.slice(1)}]`, "latin1");
}

let lastEnds: { readonly of: Buckets; readonly ends: readonly string[] } | undefined;

/**
 * The text after the value of each bucket, cached for the next series: the series of one response mostly have the same
 * buckets.
 */
function pointEnds(buckets: Buckets): readonly string[] {
  const { start, step, count } = buckets;
  if (lastEnds?.of.start === start && lastEnds.of.step === step && lastEnds.of.count === count) return lastEnds.ends;
  const ends = Array.from({ length: count }, (_, i) => `,"ts":"${start + i * step}"}`);
  lastEnds = { of: buckets, ends };
  return ends;
}
