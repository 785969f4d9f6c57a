import type { Dimension } from "./dimensions.js";

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
  /** A value for each slot; NaN where nothing is saved (read) or nothing is written (write). */
  readonly values: Float64Array;
}

/** A point that is added to its slot. Its series, `ms`, `ns` and `source` identify it. */
export interface AddedPoint {
  /** Unix ms, rounded down. */
  readonly ms: number;
  /** Nanoseconds after `ms`, below a million. */
  readonly ns: number;
  /** Number of its source: see `sourceNumber` in `added-points`. */
  readonly source: number;
  readonly value: number;
}

/** Added points of one series. */
export interface AddedPoints {
  readonly series: Series;
  readonly points: readonly AddedPoint[];
}

/** A series that is used repeatedly: its key and its hash are computed once. */
export class KnownSeries implements Series {
  readonly dimension: Dimension;
  readonly id: string;
  readonly type: string;
  readonly key: string;
  readonly hash: number;

  constructor(dimension: Dimension, id: string, type: string) {
    this.dimension = dimension;
    this.type = type;
    this.key = keyOf({ dimension, id, type });
    this.hash = hashOf(this.key);
    // A slice of the key, not the caller's id, which could keep a whole request body in memory.
    this.id = this.key.slice(dimension.name.length + 1, this.key.length - type.length - 1);
  }
}

/** Sums by dimension and type. */
const sums = new Map<string, KnownSeries>();

/** Returns the series that sums up all series of this dimension and type; undefined if the dimension has none. */
export function sumOver({ dimension, type }: Series): Series | undefined {
  const { name, sumId } = dimension;
  if (sumId === undefined) return undefined;
  const key = `${name}\0${type}`;
  const known = sums.get(key) ?? new KnownSeries(dimension, sumId, type);
  sums.set(key, known);
  return known;
}

/** Returns whether a series is the sum over all series of its dimension and type. */
export function isSum({ dimension, id }: Pick<Series, "dimension" | "id">): boolean {
  return id === dimension.sumId;
}

/**
 * Adds the slots of a column to the sums of the same slots. NaN adds nothing; a sum beyond the range of a double is
 * clamped.
 */
export function addSlots(column: Float64Array, sums: Float64Array): void {
  for (let i = 0; i < column.length; i += 1) {
    const value = column[i] as number;
    if (Number.isNaN(value)) continue;
    const sum = sums[i] as number;
    sums[i] = finite(Number.isNaN(sum) ? value : sum + value);
  }
}

/** Returns the number, or the nearest number that JSON can represent. */
export function finite(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}

/** Returns a unique name of a series. */
export function seriesKey(series: Series): string {
  return series instanceof KnownSeries ? series.key : keyOf(series);
}

/** Returns a 32-bit number to spread series, the same for equal keys. `key` is the series' own. */
export function seriesHash(series: Series, key = seriesKey(series)): number {
  return series instanceof KnownSeries ? series.hash : hashOf(key);
}

/** Ids contain no control character, so NUL separates. */
function keyOf({ dimension, id, type }: Series): string {
  return `${dimension.name}\0${id}\0${type}`;
}

/** FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Returns the start of the slot that contains an instant. */
export function slotStart({ slotMs }: Dimension, ms: number): number {
  return Math.floor(ms / slotMs) * slotMs;
}

/** Returns the start of the first slot that starts at an instant or after it. */
export function nextSlot({ slotMs }: Dimension, ms: number): number {
  return Math.ceil(ms / slotMs) * slotMs;
}
