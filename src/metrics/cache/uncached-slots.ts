import type { MemoryBudget } from "../../memory-budget.js";
import { type SeriesStore, type SeriesWindow, slotsIn } from "../ports.js";
import type { Generations, VersionVector } from "./generations.js";
import { incomplete, withDeadline } from "./slot-cache.js";
import type { Versioned } from "./versioned-cache.js";

/**
 * Returns the slots of each window, in order, with versions from before the read. Reads only these slots from the store
 * and caches none. Used for a few slots of many series, whose chunks would take much of the cache. Rejects as
 * `SlotCache.read` does.
 */
export type UncachedSlots = (windows: readonly SeriesWindow[]) => Promise<Versioned<Float64Array>[]>;

/** Memory of a slot in its column and in the row that it was read from, bytes. */
const SLOT_BYTES = 16;

export interface UncachedSlotsDependencies {
  readonly store: Pick<SeriesStore, "read">;
  readonly generations: Generations;
  readonly memory: MemoryBudget;
  /** Time limit of a read of the store, ms. */
  readonly deadlineMs: number;
}

export function uncachedSlots({ store, generations, memory, deadlineMs }: UncachedSlotsDependencies): UncachedSlots {
  return async (windows) => {
    const versions = windows.map((window) => generations.versionsIn(window));
    const lengths = windows.map(slotsIn);
    const bytes = SLOT_BYTES * lengths.reduce((sum, length) => sum + length, 0);
    const columns = await memory.within((reading) => {
      reading.reserve(bytes);
      return withDeadline(deadlineMs, () => store.read(windows));
    });
    if (!lengths.every((length, i) => columns[i]?.length === length)) throw incomplete();
    return windows.map((_, i) => ({ value: columns[i] as Float64Array, versions: versions[i] as VersionVector }));
  };
}
