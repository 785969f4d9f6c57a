import { invalid, type ServiceError } from "../errors.js";
import { costOf, type SeriesPlan } from "./series-plan.js";

/** The most that one answer may take. */
export interface AnswerLimits {
  /** Buckets of one series. */
  readonly buckets: number;
  /** Values of all series: a value for each bucket of each window, whether it is empty or not. */
  readonly answer_values: number;
  /** Saved slots of all series that the values are made of. */
  readonly answer_slots: number;
}

/** Throws when a series has more buckets than one may have. */
export function checkBuckets(plan: SeriesPlan, limits: AnswerLimits): void {
  if (costOf(plan).values <= limits.buckets) return;
  throw invalid(
    "too_many_buckets",
    "interval",
    `The window holds more than ${limits.buckets} buckets of this interval`,
  );
}

/** The most series that the requests for every segment, in one batch, may come to. */
const MOST_EXPANDED = 10_000;

/** Throws when too many series would stand in the place of requests for every segment. */
export function checkExpanded(series: number): void {
  if (series > MOST_EXPANDED) throw tooLarge("too_many_series", `more than ${MOST_EXPANDED} series`);
}

/** Throws when the answer as a whole would be too large. */
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
