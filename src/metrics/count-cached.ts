import type { Meters } from "../meters.js";
import type { FetchSeries } from "./fetch-series.js";

/** Counts series for `/metrics`: all that were asked for, and those for which no store was read. */
export type CountSeries = (asked: number, cached: number) => void;

export function seriesCounters(meters: Pick<Meters, "counter">): CountSeries {
  const fetched = meters.counter("series_fetched_total", "Series that were asked for.");
  const cached = meters.counter("series_cached_total", "Series among them for which no store was read.");
  return (asked, fromMemory) => {
    fetched(asked);
    cached(fromMemory);
  };
}

/** The same fetching, counted. */
export function countCached(fetch: FetchSeries, count: CountSeries): FetchSeries {
  return async (plans, now, reading) => {
    const found = await fetch(plans, now, reading);
    count(found.length, found.filter(({ isCached }) => isCached).length);
    return found;
  };
}
