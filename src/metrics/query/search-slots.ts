import { weightedBatches } from "../../async/weighted-batches.js";
import { yieldWhenDue } from "../../async/yielding.js";
import { joinVersions } from "../cache/generations.js";
import type { UncachedSlots } from "../cache/uncached-slots.js";
import type { Versioned } from "../cache/versioned-cache.js";
import type { Dimension } from "../dimensions.js";
import { type SeriesWindow, slotsIn } from "../ports.js";
import { ratioOf } from "./aggregate.js";
import { storedSeries } from "./plan.js";

/** Series of one dimension and type. */
export interface SeriesOf {
  readonly dimension: Dimension;
  readonly type: string;
  readonly ids: readonly string[];
}

/** The slots in which the value of a series is searched: [from, to), slot boundaries, Unix ms. */
export interface SearchedWindow {
  readonly from: number;
  readonly to: number;
}

/** A value, its slot (Unix ms), and the versions of all slots that were read; both numbers are NaN if none is saved. */
export interface FoundValue extends Versioned<number> {
  readonly slot: number;
}

/** Slots of the first read: most series have a value in them. */
const FIRST_SLOTS = 12;

/** Factor by which each later read is longer. */
const GROWTH = 8;

/** Slots read at once. */
const SLOTS_PER_READ = 300_000;

/**
 * Finds the first or the last saved value of each series in its window; undefined for a series without a window. Reads
 * from that end of the window on until a value is found.
 */
export async function searchSlots(
  read: UncachedSlots,
  { dimension, type, ids }: SeriesOf,
  windows: readonly (SearchedWindow | undefined)[],
  end: "first" | "last",
): Promise<(FoundValue | undefined)[]> {
  const found = windows.map((window) => window && { value: Number.NaN, slot: Number.NaN, versions: joinVersions([]) });
  const left = [...windows];
  for (let slots = FIRST_SLOTS; ; slots *= GROWTH) {
    const parts = left.flatMap((window, i) => {
      if (window === undefined || window.from >= window.to || !Number.isNaN(found[i]?.value)) return [];
      const { from, to } = window;
      const length = slots * dimension.slotMs;
      const part =
        end === "first" ? { from, to: Math.min(to, from + length) } : { from: Math.max(from, to - length), to };
      left[i] = end === "first" ? { from: part.to, to } : { from, to: part.from };
      return { i, series: { dimension, type, id: ids[i] as string }, ...part };
    });
    if (parts.length === 0) return found;
    for (const [n, batch] of [...weightedBatches(parts, SLOTS_PER_READ, slotsIn)].entries()) {
      if (n > 0) await yieldWhenDue();
      const columns = (await storedSlots(read, batch)).map(valuesOf);
      for (const [at, { i, from }] of batch.entries()) {
        const { value: values, versions } = columns[at] as Versioned<Float64Array>;
        const slot = end === "first" ? values.findIndex(isSaved) : values.findLastIndex(isSaved);
        const before = (found[i] as FoundValue).versions;
        found[i] = {
          value: values[slot] ?? Number.NaN,
          slot: slot < 0 ? Number.NaN : from + slot * dimension.slotMs,
          versions: before.at.length === 0 ? versions : joinVersions([before, versions]),
        };
      }
    }
  }
}

const isSaved = (value: number) => !Number.isNaN(value);

/** Returns the slots of each window: of its stored series, or of numerator and denominator. */
export async function storedSlots(
  read: UncachedSlots,
  windows: readonly SeriesWindow[],
): Promise<Versioned<Float64Array>[][]> {
  const stored = windows.map(({ series: requested, from, to }) =>
    storedSeries(requested).map((series) => ({ series, from, to })),
  );
  const slots = (await read(stored.flat())).values();
  return stored.map((parts) => parts.map(() => slots.next().value as Versioned<Float64Array>));
}

/** Returns the values of a stored series, or the ratio of numerator and denominator, NaN where none is saved. */
function valuesOf(stored: readonly Versioned<Float64Array>[]): Versioned<Float64Array> {
  const [first, second] = stored as [Versioned<Float64Array>, Versioned<Float64Array> | undefined];
  if (second === undefined) return first;
  const value = first.value.map((numerator, i) => ratioOf(numerator, second.value[i] as number));
  return { value, versions: joinVersions([first.versions, second.versions]) };
}
