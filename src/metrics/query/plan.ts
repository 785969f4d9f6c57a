import { isCounted } from "../dimensions.js";
import type { SeriesWindow } from "../ports.js";
import { type Series, slotStart } from "../series.js";
import type { SeriesRequest } from "./request.js";
import { bucketStart, nextBucketStart } from "./time-window.js";

/** Consecutive buckets. All in Unix ms, except `count`. */
export interface Buckets {
  /** Start of the first bucket. */
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** Number of preceding buckets in a moving average. */
export const SMOOTH_LEAD = 2;

/** The slots to read for a request, and the buckets to compute from them. */
export interface SeriesPlan {
  readonly request: SeriesRequest;
  /** The stored series: the requested one, or numerator and denominator of a ratio. */
  readonly stored: readonly [Series] | readonly [Series, Series];
  /** Number of series that a sum adds up; 1 for any other series. */
  readonly summed: number;
  /**
   * The slots to read: [readFrom, start of the first bucket) and [from, to), Unix ms, slot boundaries. None of them has
   * expired.
   */
  readonly readFrom: number;
  readonly from: number;
  readonly to: number;
  /** The buckets of the window, after `lead` more for smoothing. */
  readonly buckets: Buckets;
  readonly lead: number;
  /** Number of buckets, from the first, that are 0 if they are empty. */
  readonly filled: number;
}

/**
 * Plans a request as of `now` (Unix ms), of slots that are kept for `retention` ms after their start (undefined:
 * unlimited).
 */
export function seriesPlan(request: SeriesRequest, now: number, retention?: number): SeriesPlan {
  const { dimension, grid, window } = request;
  const { slotMs } = dimension;
  const empty = window.from === window.to;
  const first = bucketStart(grid, window.from);
  const end = empty ? first : nextBucketStart(grid, window.to);
  const lead = request.smooth && !empty ? SMOOTH_LEAD : 0;
  const start = first - lead * grid.step;
  const buckets = { start, step: grid.step, count: Math.round((end - start) / grid.step) };
  const filled = request.fillEmpty ? fillable(request, buckets, now) : 0;
  const expired = retention === undefined ? Number.NEGATIVE_INFINITY : now - retention;
  const from = nextSlot(Math.max(window.from, expired), slotMs);
  const to = Math.max(from, nextSlot(window.to, slotMs));
  const readFrom = lead === 0 ? from : nextSlot(Math.max(start, expired), slotMs);
  return { request, stored: storedSeries(request), summed: 1, readFrom, from, to, buckets, lead, filled };
}

/** Returns the windows to read: one for each stored series, of the same slots. */
export function windowsOf({ stored, readFrom, to }: SeriesPlan): SeriesWindow[] {
  return stored.map((series) => ({ series, from: readFrom, to }));
}

/**
 * Returns the number of buckets, from the first, that can have a value now: they have started, and the slot of their
 * start is due.
 */
function fillable(request: SeriesRequest, { start, step, count }: Buckets, now: number): number {
  const { dimension } = request;
  const wait = isCounted(request) ? dimension.slotMs : 0;
  let known = Math.min(count, Math.max(0, Math.ceil((now - start) / step)));
  while (known > 0 && slotStart(dimension, start + (known - 1) * step) + wait > now) known -= 1;
  return known;
}

/** Returns the stored series of a series: itself, or numerator and denominator of a ratio. */
export function storedSeries({ dimension, id, type }: Series): SeriesPlan["stored"] {
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
