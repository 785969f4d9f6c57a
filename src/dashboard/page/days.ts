import { DAY } from "../duration.js";
import { dayAfter } from "./moment.js";

const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Returns the start of a month that is some months after another, Unix ms. */
export function firstOf(month: string, later: number): number {
  const date = new Date(`${month}-01`);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later);
}

/** Returns the same day of another month, or its last day. */
export function monthsLater(day: string, months: number): string {
  const month = day.slice(0, 7);
  const last = firstOf(month, months + 1) - DAY;
  return dayText(Math.min(last, firstOf(month, months) + (Number(day.slice(8)) - 1) * DAY));
}

/** Returns the day to which a key leads; undefined for other keys. */
export function dayBy(key: string, day: string): string | undefined {
  const weekday = (new Date(day).getUTCDay() + 6) % 7;
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7, Home: -weekday, End: 6 - weekday }[key];
  if (days !== undefined) return dayText(Date.parse(day) + days * DAY);
  const months = { PageUp: -1, PageDown: 1 }[key];
  return months === undefined ? undefined : monthsLater(day, months);
}

/** Weeks with a day of the month, from Monday on. */
export function weeksOf(month: string): string[][] {
  let day = dayBy("Home", `${month}-01`) as string;
  const weeks: string[][] = [];
  while (day.slice(0, 7) <= month) {
    const days: string[] = [];
    for (let i = 0; i < 7; i += 1, day = dayAfter(day)) days.push(day);
    weeks.push(days);
  }
  return weeks;
}
