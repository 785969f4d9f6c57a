import { weightedBatches } from "../../async/weighted-batches.js";
import { invalid, type ServiceError, type ValidationIssue } from "../../errors.js";
import { countOf, type SeriesPlan } from "./plan.js";

/** Maximum saved slots that one response reads. */
const MAX_SLOTS = 5_000_000;

/** Maximum segments of the catalogue for an item that requests all of them. */
export const MAX_SEGMENTS = 1_000;

export const tooManySegments: ValidationIssue = {
  code: "too_many_segments",
  path: "dimension_id",
  message: `The catalogue holds more than ${MAX_SEGMENTS} segments; request them by their ids`,
};

/** Maximum series of all items of a batch that request every segment. */
const MAX_EXPANDED = 10_000;

/** Throws if the items for every segment have too many series together. */
export function checkExpanded(series: number): void {
  if (series > MAX_EXPANDED) throw tooLarge("too_many_series", `more than ${MAX_EXPANDED} series`);
}

/** Returns the number of values of a plan. */
export function valuesOf({ buckets, lead }: SeriesPlan): number {
  return countOf(buckets) - lead;
}

/** Throws if the response would have more than `most` values: one for each bucket of each window, empty ones too. */
export function checkValues(values: number, most: number): void {
  if (values > most) throw tooLarge("too_many_values", `more than ${most} values`);
}

/** Throws if the response would have more than `maxValues` values, or read too many slots. */
export function checkAnswer(plans: readonly SeriesPlan[], maxValues: number): void {
  let values = 0;
  let slots = 0;
  for (const plan of plans) {
    values += valuesOf(plan);
    slots += slotsOf(plan);
  }
  checkValues(values, maxValues);
  if (slots > MAX_SLOTS) throw tooLarge("too_many_slots", `more than ${MAX_SLOTS} saved slots to read`);
}

function tooLarge(code: string, what: string): ServiceError {
  return invalid(
    code,
    "",
    `The answer would take ${what}; ask for fewer series, a shorter window or a longer interval`,
  );
}

/** Maximum work of a batch, in slots: well below 50 ms. */
const BATCH_WORK = 300_000;

/** Work below which other requests need not run before it, in slots. */
const SMALL_WORK = 20_000;

/** Work of a value and of a plan, in slots. */
const VALUE_WORK = 10;
const PLAN_WORK = 1_000;

/** Memory of a slot in the store's result and in the cache, bytes. */
const SLOT_BYTES = 16;

/** Typical memory of a value in its serialized series and in the response body, bytes. */
const VALUE_BYTES = 80;

/** Splits work on plans into batches, in order. A plan is never split. */
export function readBatches(plans: readonly SeriesPlan[]): Iterable<readonly SeriesPlan[]> {
  return weightedBatches(plans, BATCH_WORK, workOf);
}

/** Returns whether plans take so little time that other requests need not run before them. */
export function isSmallWork(plans: readonly SeriesPlan[]): boolean {
  return plans.reduce((sum, plan) => sum + workOf(plan), 0) < SMALL_WORK;
}

/** Returns the estimated memory of the answers to plans, bytes. A series without values needs only its empty rows. */
export function answerBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + VALUE_BYTES * (mayHold(plan) ? valuesOf(plan) : plan.filled), 0);
}

/** Returns the maximum memory of the slots of plans while they are read and aggregated, bytes. */
export function slotBytes(plans: readonly SeriesPlan[], mayHold: (plan: SeriesPlan) => boolean): number {
  return plans.reduce((sum, plan) => sum + (mayHold(plan) ? SLOT_BYTES * columnSlots(plan) : 0), 0);
}

function workOf(plan: SeriesPlan): number {
  return slotsOf(plan) + VALUE_WORK * valuesOf(plan) + PLAN_WORK;
}

/** Returns the number of slots that are read for a plan. */
function slotsOf(plan: SeriesPlan): number {
  return plan.seriesCount * columnSlots(plan);
}

/** Returns the number of slots in the columns of a plan. */
function columnSlots({ stored, readFrom, to, request }: SeriesPlan): number {
  return stored.length * ((to - readFrom) / request.dimension.slotMs);
}
