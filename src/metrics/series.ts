import type { Dimension } from "./dimensions/dimension.js";

/** One stored time series: a dimension, an id within it, and one of the dimension's stored types. */
export interface Series {
  readonly dimension: Dimension;
  readonly id: string;
  readonly type: string;
}

/** Consecutive slots of one series. */
export interface SlotColumn {
  readonly series: Series;
  /** Start of the first slot, Unix ms: a multiple of the dimension's `slotMs`. */
  readonly from: number;
  /** A value for each slot; NaN where nothing is saved (read) or nothing is said (written). */
  readonly values: Float64Array;
}

/** A name for a series that no other series has. Ids hold no control character, so NUL separates. */
export function seriesKey({ dimension, id, type }: Series): string {
  return `${dimension.name}\0${id}\0${type}`;
}

/** Start of the slot that holds a moment. */
export function slotStart(dimension: Dimension, ms: number): number {
  return Math.floor(ms / dimension.slotMs) * dimension.slotMs;
}
