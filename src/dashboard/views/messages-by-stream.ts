import { DAY } from "../duration.js";
import { type Fetched, type Refused, type Series, sumOf, type WantedSeries } from "../fetch-series.js";
import { dayAndWeekBefore } from "../figures.js";
import { messageSeries } from "../list/wanted.js";
import { hourlyWindow, type TimeWindow } from "../time-window.js";

/** Messages of the last 24 whole hours, and what they are compared with. */
export interface DayTotals {
  readonly day: number;
  readonly compared: ReturnType<typeof dayAndWeekBefore>;
}

/** The largest streams, and the sum of all others. */
export interface StreamShares {
  readonly series: readonly Series[];
  readonly refused: readonly Refused[];
  /** Streams that received messages. */
  readonly streams: number;
}

const ALL = "stream.all_streams.size";

/** The sum over all streams in the last two weeks: of earlier days only whether there was a message counts. */
export function wantedDays(now: number): WantedSeries[] {
  return [{ ...messageSeries("all_streams"), window: lastWeeks(now), compare: false }];
}

/** Undefined when the service refused the sum. */
export function dayTotals({ series }: Fetched, now: number): DayTotals | undefined {
  const { from, to } = lastWeeks(now);
  const hours = series.find(({ name, window }) => name === ALL && window.from === from && window.to === to)?.values;
  return hours && { day: sumOf(hours.slice(-24)), compared: dayAndWeekBefore(hours) };
}

const lastWeeks = (now: number): TimeWindow => hourlyWindow(now - 14 * DAY, now);

/** The series of the named streams, and "other": all streams less these. */
export function messagesByStream(fetched: Fetched, names: readonly string[], streams: number): StreamShares {
  const all = fetched.series.findLast(({ name }) => name === ALL);
  const largest = names.flatMap((name) => fetched.series.find((one) => one.name === `stream.${name}.size`) ?? []);
  const other = all === undefined ? undefined : otherThan(all, largest, streams > largest.length);
  const refused = fetched.refused.filter(({ unit }) => unit === "messages");
  return { series: [...largest, ...(other === undefined ? [] : [other])], refused, streams };
}

/** All streams less some of them, never negative; undefined when there is no other stream and nothing is left. */
function otherThan(all: Series, largest: readonly Series[], hasOthers: boolean): Series | undefined {
  const rest = (of: (series: Series) => readonly (number | null)[]) =>
    of(all).map((value, at) => {
      if (value === null) return null;
      return Math.max(0, value - largest.reduce((sum, one) => sum + (of(one)[at] ?? 0), 0));
    });
  const values = rest((series) => series.values);
  const label = largest.length === 0 ? "all streams" : "other";
  const isLeft = hasOthers || largest.length === 0 ? (value: number | null) => value !== null : Boolean;
  if (!values.some(isLeft)) return undefined;
  const before = all.before === undefined ? undefined : rest((series) => series.before ?? []);
  return { ...all, name: "stream.other", label, values, before, isRest: largest.length > 0 };
}
