import { bucketStart, nextBucketStart } from "./bucket-grid.js";
import type { Buckets } from "./buckets.js";
import type { Dimension } from "./dimensions/dimension.js";
import { type Series, slotStart } from "./series.js";
import type { SeriesRequest } from "./series-request.js";
import type { SeriesWindow } from "./series-store.js";
import { SMOOTH_LEAD } from "./smooth.js";

/** What a request comes to: slots to read and buckets to make of them. Two requests of one `key` have the same values. */
export interface SeriesPlan {
  readonly request: SeriesRequest;
  readonly key: string;
  /** The stored series: the one asked for, or numerator and denominator of a ratio. */
  readonly parts: readonly [Series] | readonly [Series, Series];
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
  const parts = partsOf(request);
  const { id, type, aggregation } = request;
  const key = `${dimension.name}\0${id}\0${type}\0${aggregation} ${grid.step} ${start} ${lead} ${filled} ${readFrom} ${from} ${to}`;
  const lasts = lastsUntil(request, { end, to, isFilled: filled === buckets.count });
  const standsUntil = keep === undefined ? lasts : Math.min(lasts, readFrom + keep);
  return { request, key, parts, readFrom, from, to, buckets, lead, filled, standsUntil };
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

/** How many slots and values the answer to a plan can take. */
export function costOf({ parts, readFrom, to, request, buckets, lead }: SeriesPlan): { slots: number; values: number } {
  return { slots: parts.length * ((to - readFrom) / request.dimension.slotMs), values: buckets.count - lead };
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

function partsOf({ dimension, id, type }: SeriesRequest): SeriesPlan["parts"] {
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
