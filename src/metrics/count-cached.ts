import type { Meters } from "../meters.js";
import type { FetchSeries } from "./fetch-series.js";

/** The same fetching, with series counted for `/metrics`: all that were asked for, and those for which no store was read. */
export function countCached(fetch: FetchSeries, meters: Pick<Meters, "counter">): FetchSeries {
  const fetched = meters.counter("series_fetched_total", "Series that were asked for.");
  const cached = meters.counter("series_cached_total", "Series among them for which no store was read.");
  return async (plans, now) => {
    const found = await fetch(plans, now);
    fetched(found.length);
    cached(found.filter(({ isCached }) => isCached).length);
    return found;
  };
}
