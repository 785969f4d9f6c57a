import type { Dimension } from "../dimensions.js";
import type { SeriesWindow } from "../ports.js";
import { type Series, slotStart } from "../series.js";
import type { SeriesRequest } from "./request.js";
import { bucketStart, nextBucketStart } from "./time-window.js";

/** Consecutive buckets. All Unix ms but `count`. */
export interface Buckets {
  /** Start of the first. */
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** Number of preceding buckets in a moving average. */
export const SMOOTH_LEAD = 2;

/** The slots to read for a request, and the buckets to make of them. */
export interface SeriesPlan {
  readonly request: SeriesRequest;
  /** The stored series: the one asked for, or numerator and denominator of a ratio. */
  readonly parts: readonly [Series] | readonly [Series, Series];
  /** How many stored series each part is the sum of; 1 for a stored one. */
  readonly summed: number;
  /**
   * The values are made of the slots [readFrom, start of the first bucket) and [from, to): Unix ms, slot boundaries.
   * None of them has expired.
   */
  readonly readFrom: number;
  readonly from: number;
  readonly to: number;
  /** The buckets of the window, and before them `lead` more for smoothing. */
  readonly buckets: Buckets;
  readonly lead: number;
  /** How many of the buckets, from the first, are 0 where they are empty. */
  readonly filled: number;
}

/**
 * Plans a request as of `now` (Unix ms), of slots that are kept for `keep` ms after their start (undefined: for ever).
 */
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
  return { request, parts: storedSeries(request), summed: 1, readFrom, from, to, buckets, lead, filled };
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
 * How many of these buckets, from the first, can hold something by now: they have started, and the slot that holds
 * their start is due.
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
