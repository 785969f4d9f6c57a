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

/** Start of the slot that holds an instant. */
export function slotStart(dimension: Dimension, ms: number): number {
  return Math.floor(ms / dimension.slotMs) * dimension.slotMs;
}

const LONGEST = 256;

/** Control characters, and halves of surrogate pairs, which no store keeps as they are. */
const UNFIT = /[\p{Cc}\p{Cs}]/u;

/** Whether a series may have this id: 1 to 256 characters, none of them a control character, not ending in `\`. */
export function isDimensionId(id: string): boolean {
  if (id === "" || id.endsWith("\\") || UNFIT.test(id)) return false;
  return id.length <= LONGEST || [...id.slice(0, 2 * LONGEST + 1)].length <= LONGEST;
}

/** The rule in words. */
export const dimensionIdRule = "A text of 1 to 256 characters, without control characters, not ending in a backslash";
