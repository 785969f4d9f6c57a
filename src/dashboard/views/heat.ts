import { isUnfinished, type Series } from "../fetch-series.js";
import type { Zone } from "../format.js";

export const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
export const HOURS: readonly number[] = Array.from({ length: 24 }, (_, hour) => hour);

/** Messages by weekday and hour. */
export interface Heat {
  /** Mean of the hours of a weekday (Monday first) and hour; undefined where there is none. */
  readonly means: readonly (readonly (number | undefined)[])[];
  /** Hours from the first one with messages to the newest saved one. */
  readonly hours: number;
  /** Hours of these without messages. */
  readonly silent: number;
}

/** Returns the means of hourly values. An hour without a value after the first one is an hour without messages. */
export function heatOf(series: Series | undefined, zone: Zone): Heat {
  const cells = DAYS.map(() => HOURS.map(() => ({ sum: 0, count: 0 })));
  let [hours, silent] = [0, 0];
  series?.values.forEach((saved, at) => {
    const value = saved ?? 0;
    if ((hours === 0 && value === 0) || isUnfinished(series, at)) return;
    hours += 1;
    if (value === 0) silent += 1;
    const date = new Date(series.window.buckets[at] as number);
    const [day, hour] = zone === "UTC" ? [date.getUTCDay(), date.getUTCHours()] : [date.getDay(), date.getHours()];
    const cell = cells[(day + 6) % 7]?.[hour];
    if (cell === undefined) return;
    cell.sum += value;
    cell.count += 1;
  });
  const means = cells.map((row) => row.map(({ sum, count }) => (count === 0 ? undefined : sum / count)));
  return { means, hours, silent };
}
