import { columnSlots, costOf, type SeriesPlan } from "./plan.js";

/** Plans that are read and answered together. */
export interface ReadPart {
  readonly plans: readonly SeriesPlan[];
  /** Whether it takes so little time that it need not yield first. */
  readonly isSmall: boolean;
}

/** Maximum work without a pause, in slots: well below 50 ms. */
const PART = 300_000;
const SMALL = 20_000;

/** Work of a series, in slots. */
const VALUE = 10;
const PLAN = 1_000;

/** Memory of a slot in the store's result and in the cache, bytes. */
const SLOT_BYTES = 16;

/** Typical memory of a value in its serialized series and in the response body, bytes. */
const VALUE_BYTES = 80;

/** Splits work on plans into parts, in order. A plan is never split. */
export function readParts(plans: readonly SeriesPlan[]): ReadPart[] {
  const parts: SeriesPlan[][] = [];
  let effort = Number.POSITIVE_INFINITY;
  for (const plan of plans) {
    const own = effortOf(plan);
    if (effort + own > PART) {
      parts.push([]);
      effort = 0;
    }
    parts.at(-1)?.push(plan);
    effort += own;
  }
  const isSmall = parts.length === 1 && effort < SMALL;
  return parts.map((plans) => ({ plans, isSmall }));
}

/**
 * Returns the estimated memory of the answers to plans, bytes. A series without values has no more than its empty rows.
 */
export function answerBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + VALUE_BYTES * (mayHold(plan) ? costOf(plan).values : plan.filled), 0);
}

/** Returns the maximum memory of the slots of plans while they are read and aggregated, bytes. */
export function slotBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + (mayHold(plan) ? SLOT_BYTES * columnSlots(plan) : 0), 0);
}

function effortOf(plan: SeriesPlan): number {
  const { slots, values } = costOf(plan);
  return slots + VALUE * values + PLAN;
}
