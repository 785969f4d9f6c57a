import { CacheMemory } from "../../cache-memory.js";
import { type Generations, joinVersions, type VersionVector } from "../cache/generations.js";
import type { UncachedSlots } from "../cache/uncached-slots.js";
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

/** Memory for cached trends, for lists of them, and of each besides its key and its versions, bytes. */
const CACHE_BYTES = 16 * 1024 * 1024;
const TREND_BYTES = 80;
const LISTED_BYTES = 150;

export interface NewestValuesDependencies {
  readonly slots: UncachedSlots;
  /** See `SeriesStore`. */
  readonly chunkSlots: number;
  readonly generations: Generations;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

/** The result of one request. */
interface ListedTrends {
  readonly ids: readonly string[];
  readonly trends: readonly Trend[];
}

/** The values of one series, NaN where none is saved, with the versions of all slots read for them. */
interface Column {
  /** Start of the first slot, Unix ms. */
  readonly from: number;
  readonly slotMs: number;
  readonly values: Float64Array;
  readonly versions: VersionVector;
}

/** A value, its slot, and the versions of all slots read for it; both numbers are NaN if none is saved. */
interface Found extends Versioned<number> {
  readonly slot: number;
}
const NOTHING = { value: Number.NaN, slot: Number.NaN };

export function newestValues({ slots, chunkSlots, generations, retention }: NewestValuesDependencies): NewestValues {
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
    const startOf = (slot: number) => {
      const start = backMs === undefined ? from : slotStart(dimension, slot - backMs);
      return start >= kept && start < to && Number.isFinite(start) ? start : undefined;
    };
    const latest = since(LATEST_SLOTS * dimension.slotMs);
    // One read for both values unless more slots are between them than are stored together.
    const first = startOf(latest) ?? latest;
    const isShort = to - first <= chunkSlots * dimension.slotMs;
    const columns = await columnsIn(series, isShort ? Math.min(first, latest) : latest, to);
    const newest = columns.map((column) => foundAt(column, lastSlot(column)));
    const searched = Math.min(since(SEARCHED_MS), Math.max(kept, window.from ?? to));
    const unsaved = placesBy(newest, ({ value }) => (Number.isNaN(value) ? searched : undefined));
    for (const [start, places] of unsaved) await replace(series, newest, places, start, to);
    const before = new Array<Found | undefined>(newest.length);
    const earlier = placesBy(newest, ({ slot }, i) => {
      const start = startOf(slot);
      const column = columns[i] as Column;
      if (start === undefined || start < column.from) return start;
      before[i] = foundAt(column, start);
      return undefined;
    });
    // Series saved at the same time, as most are, are read together.
    for (const [slot, places] of earlier) await replace(series, before, places, slot, slot + dimension.slotMs);
    if (window.from !== undefined) await findLater(series, before, newest, Math.max(kept, window.from));
    return newest.map(({ value, versions }, i) => {
      const earlier = before[i];
      if (earlier === undefined) return { value: { now: numberOf(value), before: undefined }, versions };
      const trend = { now: numberOf(value), before: numberOf(earlier.value) };
      const isLater = trend.before !== undefined && window.from !== undefined && earlier.slot > window.from;
      return {
        value: isLater ? { ...trend, since: earlier.slot } : trend,
        versions: versions === earlier.versions ? versions : joinVersions([versions, earlier.versions]),
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
    const isAbsent = (i: number) => before[i] === undefined || Number.isNaN(before[i].value);
    let start = from;
    // Most series that have no value in the first slot begin soon after it, so longer and longer windows are read.
    for (let slots = LATEST_SLOTS; ; slots *= 8) {
      const places = [...ids.keys()].filter((i) => isAbsent(i) && (newest[i] as Found).slot > start);
      if (places.length === 0) return;
      const latest = places.reduce((last, i) => Math.max(last, (newest[i] as Found).slot), start);
      const end = Math.min(start + slots * dimension.slotMs, latest);
      const read = await foundIn({ dimension, type, ids: places.map((i) => ids[i] as string) }, start, end, firstSlot);
      for (const [n, i] of places.entries()) {
        const found = read[n] as Found;
        const versions = joinVersions([found.versions, ...(before[i] === undefined ? [] : [before[i].versions])]);
        // The newest value is not one before itself.
        before[i] = { ...(found.slot < (newest[i] as Found).slot ? found : NOTHING), versions };
      }
      start = end;
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
    const read = await foundIn({ dimension, type, ids: places.map((i) => ids[i] as string) }, from, to, lastSlot);
    for (const [n, i] of places.entries()) found[i] = read[n];
  }

  /** Returns one value of each series in [from, to). */
  async function foundIn(
    { ids, ...series }: SeriesOf,
    from: number,
    to: number,
    slotIn: (column: Column) => number,
  ): Promise<Found[]> {
    const most = Math.max(1, Math.floor((SLOTS_AT_ONCE * series.dimension.slotMs) / (to - from)));
    const found: Found[] = [];
    for (let at = 0; at < ids.length; at += most) {
      const columns = await columnsIn({ ...series, ids: ids.slice(at, at + most) }, from, to);
      found.push(...columns.map((column) => foundAt(column, slotIn(column))));
    }
    return found;
  }

  /** Returns the values of each series in [from, to). */
  async function columnsIn({ dimension, type, ids }: SeriesOf, from: number, to: number): Promise<Column[]> {
    const windows = ids.flatMap((id) => storedSeries({ dimension, id, type }).map((series) => ({ series, from, to })));
    const read = await slots(windows);
    const perId = windows.length / ids.length;
    return ids.map((_, i) => {
      const stored = read.slice(i * perId, (i + 1) * perId);
      const [first, second] = stored as [Versioned<Float64Array>, Versioned<Float64Array> | undefined];
      const values =
        second === undefined ? first.value : first.value.map((value, n) => ratioOf(value, second.value[n] as number));
      return { from, slotMs: dimension.slotMs, values, versions: joinVersions(stored.map(({ versions }) => versions)) };
    });
  }
}

function numberOf(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}

/** Groups the positions of a list by a number of each item; items without one are left out. */
function placesBy<T>(
  items: readonly T[],
  numberFor: (item: T, at: number) => number | undefined,
): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const [i, item] of items.entries()) {
    const key = numberFor(item, i);
    if (key === undefined) continue;
    const known = places.get(key);
    if (known === undefined) places.set(key, [i]);
    else known.push(i);
  }
  return places;
}

function foundAt({ from, slotMs, values, versions }: Column, slot: number): Found {
  const value = values[(slot - from) / slotMs] ?? Number.NaN;
  return { slot: Number.isNaN(value) ? Number.NaN : slot, value, versions };
}

/** Returns the last slot with a value; NaN if there is none. */
function lastSlot({ from, slotMs, values }: Column): number {
  const at = values.findLastIndex((value) => !Number.isNaN(value));
  return at < 0 ? Number.NaN : from + at * slotMs;
}

/** Returns the first slot with a value; NaN if there is none. */
function firstSlot({ from, slotMs, values }: Column): number {
  const at = values.findIndex((value) => !Number.isNaN(value));
  return at < 0 ? Number.NaN : from + at * slotMs;
}
