import { CacheMemory } from "../../cache-memory.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { Generations } from "../cache/generations.js";
import type { CachedSlots, SlotCache } from "../cache/slot-cache.js";
import { VersionedCache } from "../cache/versioned-cache.js";
import { aggregate } from "./aggregate.js";
import { cachedValues } from "./cached-values.js";
import type { SeriesOf } from "./newest-values.js";

/**
 * Returns the sum of the saved slots in [from, to) of each series, in the order of the ids; NaN without one. The bounds
 * are slot boundaries, Unix ms. The sums are as in `/api/metric`.
 */
export type SlotSums = (series: SeriesOf, from: number, to: number) => Promise<readonly number[]>;

/** Slots read at once. */
const SLOTS_PER_READ = 300_000;

/** A slot of a column and of its copy, bytes. */
const SLOT_BYTES = 16;

/** Memory for cached sums, and approximate memory of each, bytes. */
const CACHE_BYTES = 8 * 1024 * 1024;
const SUM_BYTES = 400;

export interface SlotSumsDependencies {
  readonly slots: SlotCache;
  readonly generations: Generations;
  readonly memory: MemoryBudget;
}

export function slotSums({ slots, generations, memory }: SlotSumsDependencies): SlotSums {
  const cache = new VersionedCache<number>(generations, new CacheMemory(CACHE_BYTES), () => SUM_BYTES);

  return async ({ dimension, type, ids }, from, to) => {
    if (from >= to) return ids.map(() => Number.NaN);
    const { slotMs } = dimension;
    const length = (to - from) / slotMs;
    const whole = { start: from, step: to - from, count: 1 };
    const sumOf = (saved: CachedSlots) => {
      const column = saved.column();
      return aggregate(column.values, column.from, slotMs, whole, "sum")[0] as number;
    };
    const key = `${dimension.name}\0${type}\0${from}\0${to}\0`;
    const found = await cachedValues(
      cache,
      key,
      ids,
      Math.max(1, Math.floor(SLOTS_PER_READ / length)),
      async (some) => {
        const reading = memory.open(() => {});
        const bytes = some.length * length * SLOT_BYTES;
        reading.reserve(bytes);
        try {
          const read = await slots.read(some.map((id) => ({ series: { dimension, id, type }, from, to })));
          return read.map((saved) => ({ value: sumOf(saved), versions: saved.versions }));
        } finally {
          reading.release(bytes);
        }
      },
    );
    return found.map(({ value }) => value);
  };
}
