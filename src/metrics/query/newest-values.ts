import { CacheMemory } from "../../cache-memory.js";
import type { MemoryBudget } from "../../memory-budget.js";
import { type Generations, joinVersions } from "../cache/generations.js";
import type { CachedSlots, SlotCache } from "../cache/slot-cache.js";
import { type Versioned, VersionedCache } from "../cache/versioned-cache.js";
import type { Dimension } from "../dimensions.js";
import { slotStart } from "../series.js";
import { ratioOf } from "./aggregate.js";
import { cachedValues } from "./cached-values.js";
import { storedSeries } from "./plan.js";
import type { RequestedWindow } from "./time-window.js";
import { type Trend, type TrendWindow, trendWindow } from "./trend-window.js";

/** Series of one dimension and type. */
export interface SeriesOf {
  readonly dimension: Dimension;
  readonly type: string;
  readonly ids: readonly string[];
}

/**
 * Returns values of each series as of `now` (Unix ms), in the order of the ids: the newest saved one in the window or
 * the 4 weeks before its end, and with dates the value of the first slot, with a range the value saved that long before
 * the newest. Reads many uncached series at once. Returns the same array for a request while no value has changed.
 * Throws as `timeWindow` does.
 */
export type NewestValues = (series: SeriesOf, asked: RequestedWindow, now: number) => Promise<readonly Trend[]>;

/** Slots that usually contain the newest value, and the maximum time that is searched, ms. */
const LATEST_SLOTS = 12;
const SEARCHED_MS = 28 * 86_400_000;

/** Series read at once. */
const IDS_PER_READ = 1_000;

/** Slots read at once. */
const SLOTS_AT_ONCE = 300_000;

/** A slot of a column and of its copy, bytes. */
const SLOT_BYTES = 16;

/** Memory for cached trends, for lists of them, and of each besides its key and its versions, bytes. */
const CACHE_BYTES = 16 * 1024 * 1024;
const TREND_BYTES = 80;
const LISTED_BYTES = 150;

export interface NewestValuesDependencies {
  readonly slots: SlotCache;
  readonly generations: Generations;
  readonly memory: MemoryBudget;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

/** The result of one request. */
interface ListedTrends {
  readonly ids: readonly string[];
  readonly trends: readonly Trend[];
}

/** A value, its slot, and the versions of all slots read for it; `value` is NaN if none is saved. */
interface Found extends Versioned<number> {
  readonly slot: number;
}

export function newestValues({ slots, generations, memory, retention }: NewestValuesDependencies): NewestValues {
  const cacheMemory = new CacheMemory(CACHE_BYTES);
  const cache = new VersionedCache<Trend>(generations, cacheMemory, () => TREND_BYTES);
  const lists = new VersionedCache<ListedTrends>(
    generations,
    cacheMemory,
    ({ ids }) => (ids.length + 1) * LISTED_BYTES,
  );

  return async ({ dimension, type, ids }, asked, now) => {
    const window = trendWindow(dimension, asked, now, retention());
    const { to, from, backMs, kept } = window;
    const key = `${dimension.name}\0${type}\0${to}\0${from}\0${backMs}\0${kept}\0`;
    const known = lists.get(key + ids.length)?.value;
    if (known?.ids.every((id, i) => id === ids[i])) return known.trends;
    const found = await cachedValues(cache, key, ids, IDS_PER_READ, (some) =>
      trendsOf({ dimension, type, ids: some }, window),
    );
    const trends = found.map(({ value }) => value);
    if (found.length > 0)
      lists.set(key + ids.length, {
        value: { ids, trends },
        versions: joinVersions(found.map(({ versions }) => versions)),
      });
    return trends;
  };

  async function trendsOf(series: SeriesOf, window: TrendWindow): Promise<Versioned<Trend>[]> {
    const { dimension } = series;
    const { to, from = Number.NEGATIVE_INFINITY, backMs, kept } = window;
    const since = (ms: number) => Math.min(to, Math.max(kept, slotStart(dimension, to - ms)));
    const newest = await valuesIn(series, since(LATEST_SLOTS * dimension.slotMs), to, newestIn);
    const unsaved = placesBy(newest, ({ value }) => (Number.isNaN(value) ? since(SEARCHED_MS) : undefined));
    for (const [start, places] of unsaved) await replace(series, newest, places, start, to);
    // Series saved at the same time, as most are, are read together.
    const earlier = placesBy(newest, ({ slot }) => {
      const start = backMs === undefined ? from : slotStart(dimension, slot - backMs);
      return start >= kept && start < to && Number.isFinite(start) ? start : undefined;
    });
    const before = new Array<Found | undefined>(newest.length);
    for (const [slot, places] of earlier) await replace(series, before, places, slot, slot + dimension.slotMs);
    if (window.from !== undefined) await findLater(series, before, newest, Math.max(kept, window.from));
    return newest.map(({ value, versions }, i) => {
      const earlier = before[i];
      if (earlier === undefined) return { value: { now: numberOf(value), before: undefined }, versions };
      const trend = { now: numberOf(value), before: numberOf(earlier.value) };
      const isLater = trend.before !== undefined && window.from !== undefined && earlier.slot > window.from;
      return {
        value: isLater ? { ...trend, since: earlier.slot } : trend,
        versions: joinVersions([versions, earlier.versions]),
      };
    });
  }

  /** Replaces absent values of the first slot by the first values after it, up to the newest ones. */
  async function findLater(
    { dimension, type, ids }: SeriesOf,
    before: (Found | undefined)[],
    newest: readonly Found[],
    from: number,
  ): Promise<void> {
    const { slotMs } = dimension;
    const isAbsent = (i: number) => before[i] === undefined || Number.isNaN(before[i].value);
    const places = [...ids.keys()].filter((i) => isAbsent(i) && (newest[i] as Found).slot > from);
    const to = Math.max(...places.map((i) => (newest[i] as Found).slot + slotMs));
    const most = Math.max(1, Math.floor((SLOTS_AT_ONCE * slotMs) / (to - from)));
    for (let at = 0; at < places.length; at += most) {
      const some = places.slice(at, at + most);
      const read = await valuesIn({ dimension, type, ids: some.map((i) => ids[i] as string) }, from, to, firstIn);
      for (const [n, i] of some.entries()) {
        const found = read[n] as Found;
        if (found.slot < (newest[i] as Found).slot) before[i] = found;
      }
    }
  }

  /** Stores the newest values of [from, to) at these positions. */
  async function replace(
    { dimension, type, ids }: SeriesOf,
    found: (Found | undefined)[],
    places: readonly number[],
    from: number,
    to: number,
  ): Promise<void> {
    const read = await valuesIn({ dimension, type, ids: places.map((i) => ids[i] as string) }, from, to, newestIn);
    for (const [n, i] of places.entries()) found[i] = read[n];
  }

  /** Returns one value of each series in [from, to). */
  async function valuesIn(
    { dimension, type, ids }: SeriesOf,
    from: number,
    to: number,
    valueIn: typeof newestIn,
  ): Promise<Found[]> {
    const { slotMs } = dimension;
    const windows = ids.flatMap((id) => storedSeries({ dimension, id, type }).map((series) => ({ series, from, to })));
    const reading = memory.open(() => {});
    const bytes = (windows.length * SLOT_BYTES * (to - from)) / slotMs;
    reading.reserve(bytes);
    try {
      const read = await slots.read(windows);
      const perId = windows.length / ids.length;
      return ids.map((_, i) => valueIn(read.slice(i * perId, (i + 1) * perId), from, to, slotMs));
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
  const versions = joinVersions(stored.map(({ versions }) => versions));
  const [first, second] = stored as [CachedSlots, CachedSlots | undefined];
  for (let slot = to - slotMs; slot >= from; slot -= slotMs) {
    const value = first.valueAt(slot);
    const result = second === undefined ? value : ratioOf(value, second.valueAt(slot));
    if (!Number.isNaN(result)) return { slot, value: result, versions };
  }
  return { slot: Number.NaN, value: Number.NaN, versions };
}

function firstIn(stored: readonly CachedSlots[], _: number, to: number, slotMs: number): Found {
  const versions = joinVersions(stored.map(({ versions }) => versions));
  const [first, second] = stored as [CachedSlots, CachedSlots | undefined];
  // The column begins with the first chunk that has a saved slot.
  for (let slot = first.column().from; slot < to; slot += slotMs) {
    const value = first.valueAt(slot);
    const result = second === undefined ? value : ratioOf(value, second.valueAt(slot));
    if (!Number.isNaN(result)) return { slot, value: result, versions };
  }
  return { slot: Number.NaN, value: Number.NaN, versions };
}
