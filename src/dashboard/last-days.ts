import type { Address } from "./address.js";
import type { Drawn } from "./fetch-series.js";
import { msOf } from "./format.js";

const HOUR = msOf("1h");
const DAY = msOf("1d");

/** What a group of series is asked with whose last 24 whole hours are added up: one hour may be missing, and the day before is there too. */
export const lastDays = (address: Address): Address => ({
  ...address,
  range: "50h",
  interval: "1h",
  smooth: false,
  compare: false,
});

/** What was saved in the 24 whole hours before the hour that is open, and in the 24 before them; undefined as long as it is not complete. */
export function dayAndDayBefore(series: readonly Drawn[], now: number): [number, number] | undefined {
  const until = Math.min(...series.map(({ completeUntil }) => completeUntil), Math.floor(now / HOUR) * HOUR);
  if (now - until > 2 * HOUR) return undefined;
  const points = series.flatMap(({ points }) => points);
  const sum = (from: number) =>
    points.reduce((total, { ts, value }) => total + (ts >= from && ts < from + DAY ? value : 0), 0);
  return [sum(until - DAY), sum(until - 2 * DAY)];
}
