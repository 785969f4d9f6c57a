import { weightedBatches } from "../../async/weighted-batches.js";
import type { CacheMemory } from "../../cache-memory.js";
import { type Generations, joinVersions } from "../cache/generations.js";
import type { UncachedSlots } from "../cache/uncached-slots.js";
import { type Versioned, VersionedCache } from "../cache/versioned-cache.js";
import { slotStart } from "../series.js";
import { type FoundValue, type SearchedWindow, type SeriesOf, searchSlots } from "./search-slots.js";
import type { RequestedWindow } from "./time-window.js";
import { type Trend, type TrendWindow, trendWindow } from "./trend-window.js";

/**
 * Returns the newest and an earlier value of each series as of `now` (Unix ms), in the order of the ids. The newest is
 * the last saved value in the window or in the 4 weeks before its end. The earlier one is, with dates, the first value
 * in the window and, with a range, the value saved that long before the newest. Reads many uncached series at once.
 * Throws as `timeWindow` does.
 */
export type NewestValues = (series: SeriesOf, asked: RequestedWindow, now: number) => Promise<readonly Trend[]>;

/** Minimum time before the end of the window in which the newest value is searched, ms. */
const SEARCHED_MS = 28 * 86_400_000;

/** Series read at once. */
const IDS_PER_READ = 1_000;

/** Memory of a cached trend besides its key and versions, bytes. */
const TREND_BYTES = 80;

export interface NewestValuesDependencies {
  readonly slots: UncachedSlots;
  readonly generations: Generations;
  /** Memory of the cached values. */
  readonly memory: CacheMemory;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

export function newestValues({ slots, generations, memory, retention }: NewestValuesDependencies): NewestValues {
  const cache = new VersionedCache<Trend>(generations, memory, () => TREND_BYTES);

  return async ({ dimension, type, ids }, asked, now) => {
    const window = trendWindow({ dimension, type }, asked, now, retention());
    const { to, from, backMs, firstKept, writableTo } = window;
    const end = Math.min(to, writableTo);
    const key = `${dimension.name}\0${type}\0${to}\0${end}\0${from}\0${backMs}\0${firstKept}\0`;
    const found = ids.map((id) => cache.get(key + id));
    const missing = [...found.keys()].filter((i) => found[i] === undefined);
    for (const places of weightedBatches(missing, IDS_PER_READ)) {
      const missingIds = places.map((i) => ids[i] as string);
      const made = await trendsOf(slots, { dimension, type, ids: missingIds }, window);
      for (const [n, i] of places.entries()) {
        found[i] = made[n];
        cache.set(key + ids[i], made[n] as Versioned<Trend>);
      }
    }
    return (found as Versioned<Trend>[]).map(({ value }) => value);
  };
}

async function trendsOf(slots: UncachedSlots, series: SeriesOf, window: TrendWindow): Promise<Versioned<Trend>[]> {
  const { dimension, ids } = series;
  const { to, from = to, firstKept, writableTo } = window;
  const since = Math.max(firstKept, Math.min(from, slotStart(dimension, to - SEARCHED_MS)));
  const searched = { from: since, to: Math.min(to, writableTo) };
  const newest = (await searchSlots(slots, series, Array(ids.length).fill(searched), "last")) as FoundValue[];
  const earlier = newest.map(({ slot }) => earlierWindow(series, window, slot));
  const before = await searchSlots(slots, series, earlier, "first");
  return newest.map(({ value, versions }, i) => {
    const { value: first, slot, versions: earlierVersions } = before[i] ?? { value: Number.NaN, slot: Number.NaN };
    const trend = { now: numberOf(value), before: numberOf(first) };
    const isLater = window.from !== undefined && slot > window.from;
    return {
      value: isLater ? { ...trend, since: slot } : trend,
      versions: earlierVersions === undefined ? versions : joinVersions([versions, earlierVersions]),
    };
  });
}

/**
 * Returns the slots in which the earlier value of a series is searched; `newest` is the slot of its newest value (NaN:
 * none). With dates they begin with the window and end before the newest value, unless it is in the first slot.
 */
function earlierWindow(
  { dimension }: SeriesOf,
  { from, to, backMs, firstKept }: TrendWindow,
  newest: number,
): SearchedWindow | undefined {
  const { slotMs } = dimension;
  if (from !== undefined) {
    const start = Math.max(firstKept, from);
    return start <= newest
      ? { from: start, to: start === from ? Math.max(newest, start + slotMs) : newest }
      : undefined;
  }
  const slot = backMs === undefined ? Number.NaN : slotStart(dimension, newest - backMs);
  return slot >= firstKept && slot < to ? { from: slot, to: slot + slotMs } : undefined;
}

function numberOf(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}
