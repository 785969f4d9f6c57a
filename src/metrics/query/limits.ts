import { invalid, type ServiceError, type ValidationIssue } from "../../errors.js";
import { costOf, type SeriesPlan } from "./plan.js";

/** Limits of one response. */
export interface AnswerLimits {
  /** Buckets of one series. */
  readonly buckets: number;
  /** Values of all series: a value for each bucket of each window, empty ones included. */
  readonly answer_values: number;
  /** Saved slots of all series that are read. */
  readonly answer_slots: number;
}

/** Throws if a series has too many buckets. */
export function checkBuckets(plan: SeriesPlan, limits: AnswerLimits): void {
  if (costOf(plan).values <= limits.buckets) return;
  throw invalid(
    "too_many_buckets",
    "interval",
    `The window holds more than ${limits.buckets} buckets of this interval`,
  );
}

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

/** Throws if the response would be too large. */
export function checkAnswer(plans: readonly SeriesPlan[], limits: AnswerLimits): void {
  let values = 0;
  let slots = 0;
  for (const plan of plans) {
    const cost = costOf(plan);
    values += cost.values;
    slots += cost.slots;
  }
  if (values > limits.answer_values) throw tooLarge("too_many_values", `more than ${limits.answer_values} values`);
  if (slots > limits.answer_slots)
    throw tooLarge("too_many_slots", `more than ${limits.answer_slots} saved slots to read`);
}

function tooLarge(code: string, what: string): ServiceError {
  return invalid(
    code,
    "",
    `The answer would take ${what}; ask for fewer series, a shorter window or a longer interval`,
  );
}
