import { weightedBatches } from "../../async/weighted-batches.js";
import { yieldWhenDue } from "../../async/yielding.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { CachedSlots, SlotCache } from "../cache/slot-cache.js";
import { aggregate } from "./aggregate.js";
import type { SeriesOf } from "./search-slots.js";

/**
 * Returns the sum of the saved slots in [from, to) of each series, in the order of the ids; NaN without one. The bounds
 * are slot boundaries, Unix ms. The sums are as in `/api/metric`.
 */
export type SlotSums = (series: SeriesOf, from: number, to: number) => Promise<readonly number[]>;

/** Slots read at once. */
const SLOTS_PER_READ = 300_000;

/** A slot of a column and of its copy, bytes. */
const SLOT_BYTES = 16;

export interface SlotSumsDependencies {
  readonly slots: SlotCache;
  readonly memory: MemoryBudget;
}

export function slotSums({ slots, memory }: SlotSumsDependencies): SlotSums {
  return async ({ dimension, type, ids }, from, to) => {
    if (from >= to) return ids.map(() => Number.NaN);
    const length = (to - from) / dimension.slotMs;
    const whole = [from, to];
    const sumOf = (saved: CachedSlots) => {
      const column = saved.column();
      return aggregate(column.values, column.from, dimension.slotMs, whole, "sum")[0] as number;
    };
    const sums: number[] = [];
    for (const batch of weightedBatches(ids, SLOTS_PER_READ, () => length)) {
      if (sums.length > 0) await yieldWhenDue();
      await memory.within(async (reading) => {
        reading.reserve(batch.length * length * SLOT_BYTES);
        const read = await slots.read(batch.map((id) => ({ series: { dimension, id, type }, from, to })));
        sums.push(...read.map(sumOf));
      });
    }
    return sums;
  };
}
