import type { CalendarSpan, Duration } from "./duration.js";
import { DAY, type TimeZone } from "./time-zone.js";

/** An instant at a distance before another one. All Unix ms. */
export interface Earlier {
  readonly at: number;
  /** Until then the distance stays the same for later instants. */
  readonly steadyUntil: number;
}

/**
 * Returns the instant one span before `now`. Months and years lead to the same local clock time, on the last day of a
 * month that is too short.
 */
export function spanBefore(now: number, span: Duration | CalendarSpan, zone: TimeZone): Earlier {
  if ("ms" in span) return { at: now - span.ms, steadyUntil: Number.POSITIVE_INFINITY };
  const local = zone.local(now);
  const earlier = monthsBefore(local, span.months);
  const at = zone.instant(earlier);
  // The distance differs from day to day, and while a clock skips a time.
  const tomorrow = now + DAY - (local - startOfDay(local));
  const steadyUntil =
    zone.local(at) === earlier ? Math.min(tomorrow, zone.steadyUntil(now), now + zone.steadyUntil(at) - at) : now;
  return { at, steadyUntil };
}

function monthsBefore(local: number, months: number): number {
  const month = monthOf(local) - months;
  const first = startOfMonth(month);
  const lastDay = startOfMonth(month + 1) - DAY;
  const day = startOfDay(local) - startOfMonth(month + months);
  return Math.min(first + day, lastDay) + (local - startOfDay(local));
}

/** Returns the months from 1970-01 to the month of a local time. */
export function monthOf(local: number): number {
  const date = new Date(local);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** Returns the local start of a month, counted from 1970-01. */
export function startOfMonth(month: number): number {
  return new Date(0).setUTCFullYear(1970, month, 1);
}

function startOfDay(local: number): number {
  return Math.floor(local / DAY) * DAY;
}
