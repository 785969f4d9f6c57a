import { invalid, type ServiceError } from "../../errors.js";
import type { Dimension } from "../dimensions.js";
import type { SeriesWindow } from "../ports.js";
import { isSum, type Series, slotStart } from "../series.js";
import { bucketStart, nextBucketStart, type SeriesRequest } from "./series-request.js";

/** Consecutive buckets. All Unix ms but `count`. */
export interface Buckets {
  /** Start of the first. */
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** Buckets before its own that a moving average is made of. */
export const SMOOTH_LEAD = 2;

/** What a request comes to: slots to read and buckets to make of them. Two requests of one `key` have the same values. */
export interface SeriesPlan {
  readonly request: SeriesRequest;
  readonly key: string;
  /** The stored series: the one asked for, or numerator and denominator of a ratio. */
  readonly parts: readonly [Series] | readonly [Series, Series];
  /** How many stored series each part is the sum of; 1 for a stored one. */
  readonly summed: number;
  /**
   * The slots that the answer is made of are [readFrom, from of its first bucket) and [from, to): Unix ms, slot boundaries. None
   * of them has expired.
   */
  readonly readFrom: number;
  readonly from: number;
  readonly to: number;
  /** The buckets of the window, and before them `lead` more for smoothing. */
  readonly buckets: Buckets;
  readonly lead: number;
  /** How many of the buckets, from the first, are 0 where they are empty. */
  readonly filled: number;
  /** Until then (Unix ms) the same request comes to the same plan. */
  readonly standsUntil: number;
}

/** Plans a request as of `now` (Unix ms), of slots that are kept for `keep` ms after their start (undefined: for ever). */
export function seriesPlan(request: SeriesRequest, now: number, keep?: number): SeriesPlan {
  const { dimension, grid, window } = request;
  const { slotMs } = dimension;
  const empty = window.from === window.to;
  const first = bucketStart(grid, window.from);
  const end = empty ? first : nextBucketStart(grid, window.to);
  const lead = request.smooth && !empty ? SMOOTH_LEAD : 0;
  const start = first - lead * grid.step;
  const buckets = { start, step: grid.step, count: Math.round((end - start) / grid.step) };
  const filled = request.fillEmpty ? fillable(dimension, buckets, now) : 0;
  const expired = keep === undefined ? Number.NEGATIVE_INFINITY : now - keep;
  const from = nextSlot(Math.max(window.from, expired), slotMs);
  const to = Math.max(from, nextSlot(window.to, slotMs));
  const readFrom = lead === 0 ? from : nextSlot(Math.max(start, expired), slotMs);
  const parts = storedSeries(request);
  const { id, type, aggregation } = request;
  const key = `${dimension.name}\0${id}\0${type}\0${aggregation} ${grid.step} ${start} ${lead} ${filled} ${readFrom} ${from} ${to}`;
  const lasts = lastsUntil(request, { end, to, isFilled: filled === buckets.count });
  const standsUntil = keep === undefined ? lasts : Math.min(lasts, readFrom + keep);
  return { request, key, parts, summed: 1, readFrom, from, to, buckets, lead, filled, standsUntil };
}

/** A window that ends now takes its next slot and its next bucket when now reaches them; a fixed one may still have empty rows to come. */
function lastsUntil(
  { window, fillEmpty }: SeriesRequest,
  { end, to, isFilled }: { readonly end: number; readonly to: number; readonly isFilled: boolean },
): number {
  if (window.standsUntil !== Number.POSITIVE_INFINITY) return Math.min(window.standsUntil, end, to);
  return fillEmpty && !isFilled ? 0 : window.standsUntil;
}

/** The windows to read: one for each part, of the same slots. */
export function windowsOf({ parts, readFrom, to }: SeriesPlan): SeriesWindow[] {
  return parts.map((series) => ({ series, from: readFrom, to }));
}

/** How many slots the columns of a plan have. */
export function columnSlots({ parts, readFrom, to, request }: SeriesPlan): number {
  return parts.length * ((to - readFrom) / request.dimension.slotMs);
}

/** How many slots are read, and how many values made, for the answer to a plan. */
export function costOf(plan: SeriesPlan): { slots: number; values: number } {
  return { slots: plan.summed * columnSlots(plan), values: plan.buckets.count - plan.lead };
}

/**
 * How many of these buckets, from the first, can hold something by now: they have started, and the slot that holds their
 * start is due.
 */
function fillable(dimension: Dimension, { start, step, count }: Buckets, now: number): number {
  const wait = dimension.due === "end" ? dimension.slotMs : 0;
  let known = Math.min(count, Math.max(0, Math.ceil((now - start) / step)));
  while (known > 0 && slotStart(dimension, start + (known - 1) * step) + wait > now) known -= 1;
  return known;
}

/** The stored series that a series is made of: itself, or numerator and denominator of a ratio. */
export function storedSeries({ dimension, id, type }: Series): SeriesPlan["parts"] {
  const ratio = Object.hasOwn(dimension.ratios, type) ? dimension.ratios[type] : undefined;
  if (ratio === undefined) return [{ dimension, id, type }];
  return [
    { dimension, id, type: ratio[0] },
    { dimension, id, type: ratio[1] },
  ];
}

function nextSlot(ms: number, slotMs: number): number {
  return Math.ceil(ms / slotMs) * slotMs;
}

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

/** How long a slot that is due is waited for, ms. */
const PATIENCE = 60_000;

/** How soon to ask again meanwhile, ms. */
const SOON = 5_000;

/** When the values of a series change, on schedule. Unix ms. */
export interface SaveSchedule {
  /** Every bucket that ends by then can no longer change. */
  readonly completeUntil: number;
  /** When asking again can show something new. */
  readonly nextSaveAt: number;
  /** Until then (Unix ms) the schedule stays as it is, if nothing is written. */
  readonly scheduledUntil: number;
}

/**
 * The schedule as of `now`. A count is saved when its slot has ended, within a minute; a size while its slot lasts, as early as
 * possible. `saved` are the slots of the plan that are saved, from the last one that was due on; of a slot outside of the
 * plan nothing is known, and of one of a sum neither: its series are saved one after the other.
 */
export function saveSchedule(plan: SeriesPlan, saved: readonly number[], now: number): SaveSchedule {
  const { dimension, window } = plan.request;
  const { slotMs, due } = dimension;
  const dueAt = slotStart(dimension, now);
  const last = due === "end" ? dueAt - slotMs : dueAt;
  const isSaved = !plan.parts.some(isSum) && saved.includes(last);
  const waited = now - dueAt >= PATIENCE;
  const complete = isSaved || (due === "end" && waited);
  const matters = window.to > last || window.to >= now;
  const completeUntil = complete ? last + slotMs : last;
  const nextSlot = dueAt + slotMs;
  if (isSaved || waited) return { completeUntil, nextSaveAt: nextSlot, scheduledUntil: nextSlot };
  if (matters) return { completeUntil, nextSaveAt: Math.min(now + SOON, nextSlot), scheduledUntil: now };
  return { completeUntil, nextSaveAt: nextSlot, scheduledUntil: dueAt + PATIENCE };
}
