import { weightedBatches } from "../../async/weighted-batches.js";
import { yieldWhenDue } from "../../async/yielding.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { SlotCache } from "../cache/slot-cache.js";
import type { SlotColumn } from "../series.js";
import { aggregate } from "./aggregate.js";
import type { SeriesOf } from "./search-slots.js";

/** The saved slots of a series, NaN where nothing is saved. It may leave out such slots at either end. */
export type SavedSlots = Pick<SlotColumn, "from" | "values">;

/**
 * Reads the slots in [from, to) of each series, and returns the result of `use` for each, in the order of the ids. The
 * bounds are slot boundaries, Unix ms.
 */
export type EachColumn = <R>(series: SeriesOf, from: number, to: number, use: (slots: SavedSlots) => R) => Promise<R[]>;

/** Slots read at once. */
const SLOTS_PER_READ = 300_000;

/** A slot of a column and of its copy, bytes. */
const SLOT_BYTES = 16;

export interface EachColumnDependencies {
  readonly slots: SlotCache;
  readonly memory: MemoryBudget;
}

export function eachColumn({ slots, memory }: EachColumnDependencies): EachColumn {
  return async ({ dimension, type, ids }, from, to, use) => {
    if (from >= to) return ids.map(() => use({ from, values: new Float64Array() }));
    const length = (to - from) / dimension.slotMs;
    const used: ReturnType<typeof use>[] = [];
    for (const batch of weightedBatches(ids, SLOTS_PER_READ, () => length)) {
      if (used.length > 0) await yieldWhenDue();
      await memory.within(async (reading) => {
        reading.reserve(batch.length * length * SLOT_BYTES);
        const read = await slots.read(batch.map((id) => ({ series: { dimension, id, type }, from, to })));
        used.push(...read.map((saved) => use(saved.column())));
      });
    }
    return used;
  };
}

/** Returns the sum of the saved slots in [from, to), as `/api/metric` does; 0 without one. */
export function sumIn({ from: start, values }: SavedSlots, slotMs: number, from: number, to: number): number {
  const sum = to > from ? (aggregate(values, start, slotMs, [from, to], "sum")[0] as number) : 0;
  return Number.isNaN(sum) ? 0 : sum;
}
