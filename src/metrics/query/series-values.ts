import { createHash } from "node:crypto";
import type { Aggregation } from "../dimensions.js";
import { type SlotColumn, slotStart } from "../series.js";
import { type Buckets, type SeriesPlan, SMOOTH_LEAD } from "./series-plan.js";

/** Consecutive slots: `from` is the start of the first, Unix ms. */
type Column = Pick<SlotColumn, "from" | "values">;

/** The values of one series, ready to be sent. */
export interface SerialisedSeries {
  /** The JSON array of its points, `[{"value":…,"ts":"…"},…]`. */
  readonly json: Buffer;
  /** Start of the slot in which it was made, Unix ms. */
  readonly since: number;
  /** Slots that were saved when it was made, from the last one due then: Unix ms of their starts. A clock that is set back needs earlier ones. */
  readonly saved: readonly number[];
  /** What `json` was made of, where the window takes in a slot that may be written soon: the next JSON begins as this one does. */
  readonly values?: Float64Array;
  /** A digest of `json`, made when it is first asked for. */
  digest?: string;
}

/**
 * Makes the values of a plan from the slots of its parts: what is saved lies in their columns, within `readFrom` and `to`. Uses up
 * the columns. What `before`, made by the same plan, says alike is not written again.
 */
export function serialise(
  plan: SeriesPlan,
  columns: readonly Column[],
  now: number,
  before?: SerialisedSeries,
): SerialisedSeries {
  const { request, from, buckets, lead, filled } = plan;
  const { slotMs } = request.dimension;
  const first = buckets.start + lead * buckets.step;
  const aggregated = plan.parts.map((_, i) => {
    const column = columns[i] as Column;
    const slotAt = (ms: number) => Math.max(0, Math.ceil((ms - column.from) / slotMs));
    // Between the start of the first bucket and that of the window lie slots that were not asked for.
    if (lead > 0) column.values.fill(Number.NaN, slotAt(first), slotAt(from));
    return aggregate(column.values, column.from, slotMs, buckets, request.aggregation);
  });
  const [numerators, denominators] = aggregated as [Float64Array, Float64Array | undefined];
  let values = denominators === undefined ? numerators : ratio(numerators, denominators);
  fillEmpty(values, filled);
  if (lead > 0) values = smooth(values);
  const json = changedJson(values, buckets, lead, before) ?? pointsJson(values, buckets, lead);
  const since = slotStart(request.dimension, now);
  const isOpen = plan.to > now - slotMs;
  return { json, since, saved: savedSlots(plan, columns, since), ...(isOpen ? { values } : {}) };
}

export function digestOf(series: SerialisedSeries): string {
  series.digest ??= createHash("sha256").update(series.json).digest("base64url").slice(0, 22);
  return series.digest;
}

function pointsJson(values: Float64Array, buckets: Buckets, lead: number): Buffer {
  return Buffer.from(`[${pointsFrom(lead, values, buckets).slice(1)}]`, "latin1");
}

/** The JSON before, with its last points written anew; undefined where that would be most of it. */
function changedJson(
  values: Float64Array,
  buckets: Buckets,
  lead: number,
  before: SerialisedSeries | undefined,
): Buffer | undefined {
  if (before?.values === undefined) return undefined;
  const known = before.values;
  let same = lead;
  while (same < values.length && isSame(values[same] as number, known[same] as number)) same += 1;
  if (same - lead < values.length / 2) return undefined;
  const stays = before.json.length - pointsFrom(same, known, buckets).length - 1;
  // Without a point before them the new ones have no comma to follow.
  if (stays <= 1) return undefined;
  const changed = Buffer.from(`${pointsFrom(same, values, buckets)}]`, "latin1");
  return Buffer.concat([before.json.subarray(0, stays), changed]);
}

function isSame(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

/** The points from a bucket on, a comma before each. Written by hand: two fields a point, numbers only, and the busiest lines of the service. */
function pointsFrom(first: number, values: Float64Array, buckets: Buckets): string {
  const ends = pointEnds(buckets);
  let json = "";
  for (let i = first; i < values.length; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) json += `,{"value":${value}${ends[i]}`;
  }
  return json;
}

let lastEnds: { readonly of: Buckets; readonly ends: readonly string[] } | undefined;

/** What follows the value of a bucket. Kept for the next series: those of one answer mostly have the same buckets. */
function pointEnds(buckets: Buckets): readonly string[] {
  const { start, step, count } = buckets;
  if (lastEnds?.of.start === start && lastEnds.of.step === step && lastEnds.of.count === count) return lastEnds.ends;
  const ends = Array.from({ length: count }, (_, i) => `,"ts":"${start + i * step}"}`);
  lastEnds = { of: buckets, ends };
  return ends;
}

function savedSlots({ request, readFrom, to }: SeriesPlan, columns: readonly Column[], since: number): number[] {
  const { dimension } = request;
  const saved: number[] = [];
  for (let slot = Math.max(readFrom, since - dimension.slotMs); slot < to; slot += dimension.slotMs) {
    const isSaved = columns.every(
      ({ from, values }) => !Number.isNaN(values[(slot - from) / dimension.slotMs] ?? Number.NaN),
    );
    if (isSaved) saved.push(slot);
  }
  return saved;
}

/**
 * One value for each bucket from the slots that start in it; NaN for a bucket without a saved slot. `from` is the start of
 * the first slot; slots outside of the buckets do not count. A sum that leaves the range of a double stays at its end.
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

/** The number, or the nearest one that JSON can carry. */
function finite(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}

/** Puts 0 into the first `count` buckets where they are empty. */
export function fillEmpty(values: Float64Array, count: number): void {
  for (let i = 0; i < count; i += 1) if (Number.isNaN(values[i])) values[i] = 0;
}

/**
 * Numerator divided by denominator, bucket by bucket. NaN where the denominator is absent (NaN) or 0; an absent numerator
 * counts as 0.
 */
export function ratio(numerators: Float64Array, denominators: Float64Array): Float64Array {
  return denominators.map((denominator, i) => ratioOf(numerators[i] as number, denominator));
}

/** The same of one bucket or slot. */
export function ratioOf(numerator: number, denominator: number): number {
  if (Number.isNaN(denominator) || denominator === 0) return Number.NaN;
  return Number.isNaN(numerator) ? 0 : finite(numerator / denominator);
}

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
