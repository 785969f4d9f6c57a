import { age, HOUR } from "./duration.js";
import { sumOf, type Values } from "./fetch-series.js";
import { change, dayOf, type Unit, type Zone } from "./format.js";
import { datesOf, type Viewed, windowOf } from "./time-window.js";

// One definition for each figure that more than one view shows:
// - Members now: the current number of members of a segment (`size`); nothing else is called so.
// - Messages of a window: the sum of the saved series of a stream over the whole hours of the window, and the messages
//   of the open hour if the window contains it. The change compares the complete buckets of the window with as many
//   before it (`comparedWindows`); if the data begin within these, only the hours from then on with the same ones of
//   the window, and the first of these is named: "since 3 Nov" (`sinceBegun`).
// - Value of a window: the newest saved value of a sampled series (members, reach, conversion) before its end.
// - Change of a window: that value less the one at the start of the window, or less the first one after it, which is
//   then named: "since 12 Oct".
// - Joined and left: the people who joined and left between the two sizes of a change, so that joined less left is the
//   change.
// The window is the window of the trend. Lists take it as `startdate` and `enddate`, so that a row, the order of the
// rows and the page of one entry have the same figures.

/** The window of the trend as the service takes it, RFC 3339. */
export interface ListWindow {
  readonly startdate: string;
  readonly enddate: string;
  /** Buckets of counts: see `TimeWindow`. */
  readonly interval?: string;
  readonly timezone?: string;
}

/** Returns the window of sampled values: segments, experiences and groups. */
export function sampledWindow(dimension: string, viewed: Viewed): ListWindow {
  return datesOf(windowOf(viewed, dimension));
}

/** Returns the whole hours of the window and its buckets, for messages of streams; none of a window in the future. */
export function countedWindow(viewed: Viewed): ListWindow {
  const { from, to, interval, timezone } = windowOf(viewed, "stream");
  const dates = datesOf({ from, to: Math.max(from, Math.min(to, openHour(viewed.now))) });
  return { ...dates, interval, ...(timezone === undefined ? {} : { timezone }) };
}

/** Start of the hour that is open, Unix ms. */
const openHour = (now: number): number => Math.floor(now / HOUR) * HOUR;

/** A row with its values in the window. */
export interface Moved {
  readonly now?: number | null;
  readonly before?: number | null;
  /** The part of `now` that is compared with `before`, if it differs by its kind: see messages. */
  readonly compared?: number | null;
  readonly since?: string;
}

/** Returns the messages of the window of a row of streams. */
export function messagesOf(
  { now: saved, slot }: Moved & { readonly slot: { readonly count: number } },
  viewed: Viewed,
): number {
  const { from, to } = windowOf(viewed, "stream");
  const open = openHour(viewed.now);
  return (saved ?? 0) + (from <= open && open < to ? slot.count : 0);
}

/** When the newest data of a stream arrived, and whether the service calls it silent. */
export interface Newest {
  readonly newest_at: string | null;
  readonly silent: boolean;
}

/** `silent for 9 h`; undefined for a stream that is not silent. */
export function silenceOf({ newest_at, silent }: Newest, now: number): string | undefined {
  if (!silent) return undefined;
  return newest_at === null ? "silent for over a year" : `silent for ${age(now - Date.parse(newest_at))}`;
}

/** Returns the two values of a row that its change compares. */
export const comparedIn = ({ now, before, compared = now }: Moved) => ({ now: compared, before });

/** Returns whether a row has changed in the window. */
export function hasMoved(row: Moved): boolean {
  const { now, before } = comparedIn(row);
  return now != null && before != null && now !== before;
}

/**
 * Returns the messages of the last 24 whole hours and of the same hours a week before, both since the data begin;
 * undefined if they begin later. `hours` are hourly values up to now.
 */
export function dayAndWeekBefore(hours: Values): { readonly now: number; readonly before: number } | undefined {
  const end = hours.length - WEEK_HOURS;
  const begun = hours.findIndex((value) => value !== null);
  if (begun === -1 || begun >= end) return undefined;
  const first = Math.max(begun, end - DAY_HOURS);
  return { now: sumOf(hours.slice(first + WEEK_HOURS)), before: sumOf(hours.slice(first, end)) };
}

const DAY_HOURS = 24;
const WEEK_HOURS = 7 * DAY_HOURS;

/** The change of a row in the window: `+39, +22 %`, or `+39, +22 % since 12 Oct`. */
export function changeOf(row: Moved, unit: Unit, zone: Zone): string {
  const { now, before } = comparedIn(row);
  const text = change(now, before, unit);
  const { since } = row;
  return since === undefined || before == null ? text : `${text} since ${dayOf(Date.parse(since), zone)}`;
}
