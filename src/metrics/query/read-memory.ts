import { columnSlots, costOf, type SeriesPlan } from "./plan.js";

/** Plans that are read and answered together. */
export interface ReadPart {
  readonly plans: readonly SeriesPlan[];
  /** Whether it takes so little time that others need not be let go first. */
  readonly isSmall: boolean;
}

/** What is done at once, in slots: well below 50 ms of work. */
const PART = 300_000;
const SMALL = 20_000;

/** What takes as much time as so many slots. */
const VALUE = 10;
const PLAN = 1_000;

/** A slot as the store hands it out and as it is kept, bytes. */
const SLOT_BYTES = 16;

/** A value in its serialised series and in the body of the answer, usually, bytes. */
const VALUE_BYTES = 80;

/** Cuts work on plans into parts, in order. A plan is never cut. */
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

/** What the answers to plans take, by estimate, bytes. One of a series that holds nothing has no more than its empty rows. */
export function answerBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + VALUE_BYTES * (mayHold(plan) ? costOf(plan).values : plan.filled), 0);
}

/** What the slots of plans take while they are read and aggregated, bytes at most. */
export function slotBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + (mayHold(plan) ? SLOT_BYTES * columnSlots(plan) : 0), 0);
}

function effortOf(plan: SeriesPlan): number {
  const { slots, values } = costOf(plan);
  return slots + VALUE * values + PLAN;
}
