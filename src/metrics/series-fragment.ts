import { createHash } from "node:crypto";
import { aggregate, type Buckets, fillEmpty } from "./buckets.js";
import { ratio } from "./ratio.js";
import { type SlotColumn, slotStart } from "./series.js";
import type { SeriesPlan } from "./series-plan.js";
import { smooth } from "./smooth.js";

/** Consecutive slots: `from` is the start of the first, Unix ms. */
export type Column = Pick<SlotColumn, "from" | "values">;

const NO_COLUMN: Column = { from: 0, values: new Float64Array(0) };

/** The values of one series, ready to be sent. */
export interface SeriesFragment {
  /** The JSON array of its points, `[{"value":…,"ts":"…"},…]`. */
  readonly json: Buffer;
  /** Slots from the last one due on, as of `builtAt`, that are saved: Unix ms of their starts. */
  readonly saved: readonly number[];
  /** A digest of `json`, made when it is first asked for. */
  digest?: string;
}

/**
 * Makes the values of a plan from the slots of its parts: what is saved lies in their columns, within `readFrom` and `to`. Uses up
 * the columns; without any there is nothing saved.
 */
export function seriesFragment(plan: SeriesPlan, columns: readonly Column[], now: number): SeriesFragment {
  const { request, from, buckets, lead, filled } = plan;
  const { slotMs } = request.dimension;
  const first = buckets.start + lead * buckets.step;
  const aggregated = plan.parts.map((_, i) => {
    const column = columns[i] ?? NO_COLUMN;
    const slotAt = (ms: number) => Math.max(0, Math.ceil((ms - column.from) / slotMs));
    // Between the start of the first bucket and that of the window lie slots that were not asked for.
    if (lead > 0) column.values.fill(Number.NaN, slotAt(first), slotAt(from));
    return aggregate(column.values, column.from, slotMs, buckets, request.aggregation);
  });
  const [numerators, denominators] = aggregated as [Float64Array, Float64Array | undefined];
  let values = denominators === undefined ? numerators : ratio(numerators, denominators);
  fillEmpty(values, filled);
  if (lead > 0) values = smooth(values);
  return { json: pointsJson(values, buckets, lead), saved: savedSlots(plan, columns, now) };
}

export function digestOf(fragment: SeriesFragment): string {
  fragment.digest ??= createHash("sha256").update(fragment.json).digest("base64url").slice(0, 22);
  return fragment.digest;
}

/** Written by hand: two fields a point, numbers only, and the busiest lines of the service. */
function pointsJson(values: Float64Array, { start, step }: Buckets, lead: number): Buffer {
  let json = "[";
  for (let i = lead; i < values.length; i += 1) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    json += `${json === "[" ? "" : ","}{"value":${value},"ts":"${start + i * step}"}`;
  }
  return Buffer.from(`${json}]`, "latin1");
}

function savedSlots({ request, readFrom, to }: SeriesPlan, columns: readonly Column[], now: number): number[] {
  const { dimension } = request;
  const saved: number[] = [];
  if (columns.length === 0) return saved;
  for (
    let slot = Math.max(readFrom, slotStart(dimension, now) - dimension.slotMs);
    slot < to;
    slot += dimension.slotMs
  ) {
    const isSaved = columns.every(
      ({ from, values }) => !Number.isNaN(values[(slot - from) / dimension.slotMs] ?? Number.NaN),
    );
    if (isSaved) saved.push(slot);
  }
  return saved;
}
