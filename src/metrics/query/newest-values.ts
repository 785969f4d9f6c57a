import { CacheMemory } from "../../cache-memory.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { CachedSlots, SlotCache } from "../cache/chunks.js";
import { type Epochs, joinTokens, TokenCache, type TokenValue } from "../cache/epochs.js";
import type { Dimension } from "../dimensions.js";
import { slotStart } from "../series.js";
import { ratioOf } from "./aggregate.js";
import { storedSeries } from "./plan.js";

/** Two values of one series; undefined where nothing is saved. */
export interface Trend {
  /** The newest saved value. */
  readonly now: number | undefined;
  /** The value saved one range before the newest. */
  readonly before: number | undefined;
}

/** Series of one dimension and type. */
export interface SeriesOf {
  readonly dimension: Dimension;
  readonly type: string;
  readonly ids: readonly string[];
}

/**
 * Returns the newest saved value of each series as of `now` (Unix ms), in the order of the ids, and with `rangeMs` the
 * value saved that long before it. A series without a value in the last 4 weeks has none. Reads many uncached series at
 * once.
 */
export type NewestValues = (series: SeriesOf, now: number, rangeMs?: number) => Promise<readonly Trend[]>;

/** Slots that usually contain the newest value, and the maximum time that is searched, ms. */
const LATEST_SLOTS = 12;
const SEARCHED_MS = 28 * 86_400_000;

/** Series read at once. */
const AT_ONCE = 1_000;

/** A slot of a column and of its copy, bytes. */
const SLOT_BYTES = 16;

/** Memory for cached trends, and memory of each besides its key and its token, bytes. */
const CACHE_BYTES = 16 * 1024 * 1024;
const TREND_BYTES = 80;

export interface NewestValuesDependencies {
  readonly slots: SlotCache;
  readonly epochs: Epochs;
  readonly memory: MemoryBudget;
}

/** A value, its slot, and the token of all slots read for it; `value` is NaN if none is saved. */
interface Found extends TokenValue<number> {
  readonly slot: number;
}

export function newestValues({ slots, epochs, memory }: NewestValuesDependencies): NewestValues {
  const cache = new TokenCache<Trend>(epochs, new CacheMemory(CACHE_BYTES), () => TREND_BYTES);

  return async ({ dimension, type, ids }, now, rangeMs = 0) => {
    const open = slotStart(dimension, now);
    const key = `${dimension.name}\0${type}\0${open}\0${rangeMs}\0`;
    const trends = new Map<string, Trend>();
    const missing: string[] = [];
    for (const id of ids) {
      const known = cache.get(key + id);
      if (known === undefined) missing.push(id);
      else trends.set(id, known.value);
    }
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      const some = { dimension, type, ids: missing.slice(at, at + AT_ONCE) };
      for (const [i, one] of (await trendsOf(some, open, rangeMs)).entries()) {
        const id = some.ids[i] as string;
        trends.set(id, one.value);
        cache.set(key + id, one);
      }
    }
    return ids.map((id) => trends.get(id) as Trend);
  };

  async function trendsOf(series: SeriesOf, open: number, rangeMs: number): Promise<TokenValue<Trend>[]> {
    const { dimension } = series;
    const end = open + dimension.slotMs;
    const newest = await newestOf(series, end - LATEST_SLOTS * dimension.slotMs, end);
    const unsaved = placesBy(newest, ({ value }) => (Number.isNaN(value) ? end - SEARCHED_MS : undefined));
    for (const [from, places] of unsaved) await replace(series, newest, places, from, end);
    const before = new Array<Found | undefined>(newest.length);
    if (rangeMs > 0) {
      // Series saved at the same time, as most are, are read together.
      const earlier = placesBy(newest, ({ value, slot }) =>
        Number.isNaN(value) ? undefined : slotStart(dimension, slot - rangeMs),
      );
      for (const [slot, places] of earlier) await replace(series, before, places, slot, slot + dimension.slotMs);
    }
    return newest.map(({ value, token }, i) => {
      const earlier = before[i];
      return {
        value: { now: numberOf(value), before: numberOf(earlier?.value) },
        token: earlier === undefined ? token : joinTokens([token, earlier.token]),
      };
    });
  }

  /** Stores the newest values of [from, to) at these positions. */
  async function replace(
    { dimension, type, ids }: SeriesOf,
    found: (Found | undefined)[],
    places: readonly number[],
    from: number,
    to: number,
  ): Promise<void> {
    const read = await newestOf({ dimension, type, ids: places.map((i) => ids[i] as string) }, from, to);
    for (const [n, i] of places.entries()) found[i] = read[n];
  }

  /** Returns the newest value of each series in [from, to). */
  async function newestOf({ dimension, type, ids }: SeriesOf, from: number, to: number): Promise<Found[]> {
    const { slotMs } = dimension;
    const windows = ids.flatMap((id) => storedSeries({ dimension, id, type }).map((series) => ({ series, from, to })));
    const reading = memory.open(() => {});
    const bytes = (windows.length * SLOT_BYTES * (to - from)) / slotMs;
    reading.reserve(bytes);
    try {
      const read = await slots.read(windows);
      const perId = windows.length / ids.length;
      return ids.map((_, i) => newestIn(read.slice(i * perId, (i + 1) * perId), from, to, slotMs));
    } finally {
      reading.release(bytes);
    }
  }
}

function numberOf(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

/** Groups the positions of a list by a number of each item; items without one are left out. */
function placesBy<T>(items: readonly T[], numberFor: (item: T) => number | undefined): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const [i, item] of items.entries()) {
    const key = numberFor(item);
    if (key === undefined) continue;
    const known = places.get(key);
    if (known === undefined) places.set(key, [i]);
    else known.push(i);
  }
  return places;
}

function newestIn(stored: readonly CachedSlots[], from: number, to: number, slotMs: number): Found {
  const columns = stored.map((slots) => slots.column());
  const token = stored.length === 1 ? (stored[0] as CachedSlots).token : joinTokens(stored.map(({ token }) => token));
  const saved = (part: number, slot: number) => {
    const column = columns[part];
    return column?.values[(slot - column.from) / slotMs] ?? Number.NaN;
  };
  for (let slot = to - slotMs; slot >= from; slot -= slotMs) {
    const value = columns.length === 1 ? saved(0, slot) : ratioOf(saved(0, slot), saved(1, slot));
    if (!Number.isNaN(value)) return { slot, value, token };
  }
  return { slot: Number.NaN, value: Number.NaN, token };
}
