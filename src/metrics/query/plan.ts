import { invalid } from "../../errors.js";
import { type BucketGrid, bucketBounds } from "../../formats/buckets.js";
import { isCounted } from "../dimensions.js";
import type { SeriesWindow } from "../ports.js";
import { nextSlot, type Series, slotStart } from "../series.js";
import type { SeriesRequest } from "./request.js";
import type { TimeWindow } from "./time-window.js";

/** Start of each of consecutive buckets, then the end of the last. All Unix ms. */
export type Buckets = readonly number[];

/** Returns the number of buckets. */
export function countOf(buckets: Buckets): number {
  return buckets.length - 1;
}

/** Maximum buckets of one series of a response. */
export const MAX_BUCKETS = 11_000;

/** Number of preceding buckets in a moving average. */
export const SMOOTH_LEAD = 2;

/** The slots to read for a request, and the buckets to compute from them. */
export interface SeriesPlan {
  readonly request: SeriesRequest;
  /** The stored series: the requested one, or numerator and denominator of a ratio. */
  readonly stored: readonly [Series] | readonly [Series, Series];
  /** Number of series that a sum adds up; 1 for any other series. */
  readonly seriesCount: number;
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
 * unlimited). Throws if its window has too many buckets.
 */
export function seriesPlan(request: SeriesRequest, now: number, retention?: number): SeriesPlan {
  const { dimension, grid, window } = request;
  const lead = request.smooth && window.from < window.to ? SMOOTH_LEAD : 0;
  let start = grid.startOf(window.from);
  for (let i = 0; i < lead; i += 1) start = grid.startOf(start - 1);
  const buckets = bucketsOf(grid, start, window, MAX_BUCKETS + lead);
  if (buckets === undefined) throw tooManyBuckets();
  const filled = request.fillEmpty ? fillable(request, buckets, now) : 0;
  const expired = retention === undefined ? Number.NEGATIVE_INFINITY : now - retention;
  const from = nextSlot(dimension, Math.max(window.from, expired));
  const to = Math.max(from, nextSlot(dimension, window.to));
  const readFrom = lead === 0 ? from : nextSlot(dimension, Math.max(start, expired));
  return { request, stored: storedSeries(request), seriesCount: 1, readFrom, from, to, buckets, lead, filled };
}

/** The error of a window that holds too many buckets. */
export function tooManyBuckets(): Error {
  const message = `The window holds more than ${MAX_BUCKETS} buckets of this interval; use a longer interval or a shorter window`;
  return invalid("too_many_buckets", "interval", message);
}

let last: { readonly key: string; readonly buckets: Buckets } = { key: "", buckets: [0] };

/**
 * Returns the buckets from `start` to the end of a window. The series of a response mostly have the same ones, so the
 * last list is cached. Undefined for more than `most`.
 */
function bucketsOf(grid: BucketGrid, start: number, { from, to }: TimeWindow, most: number): Buckets | undefined {
  if (from === to) return [start];
  const { key, buckets } = last;
  if (key === grid.key && buckets[0] === start && isEndOf(buckets, to) && countOf(buckets) <= most) return buckets;
  const made = bucketBounds(grid, start, to, most);
  if (made !== undefined) last = { key: grid.key, buckets: made };
  return made;
}

/** Returns whether the last bucket contains the last moment before `to`. */
function isEndOf(buckets: Buckets, to: number): boolean {
  return (buckets.at(-2) as number) < to && to <= (buckets.at(-1) as number);
}

/** Returns the windows to read: one for each stored series, of the same slots. */
export function windowsOf({ stored, readFrom, to }: SeriesPlan): SeriesWindow[] {
  return stored.map((series) => ({ series, from: readFrom, to }));
}

/**
 * Returns the number of buckets, from the first, that can have a value now: they have started, and the first slot that
 * begins in them is due, or the slot that contains them.
 */
function fillable(request: SeriesRequest, buckets: Buckets, now: number): number {
  const { dimension } = request;
  const wait = isCounted(request) ? dimension.slotMs : 0;
  const isKnown = (start: number, end: number) => {
    const first = nextSlot(dimension, start);
    return start < now && (first < end ? first : slotStart(dimension, start)) + wait <= now;
  };
  let known = countOf(buckets);
  while (known > 0 && !isKnown(buckets[known - 1] as number, buckets[known] as number)) known -= 1;
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
