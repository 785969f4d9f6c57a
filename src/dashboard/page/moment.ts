import { isDay } from "../address.js";
import { DAY } from "../duration.js";
import type { Zone } from "../format.js";

export const MINUTE = 60_000;

/** An instant as fields show it: `2026-11-23 14:00`. */
export function momentText(ms: number, zone: Zone): string {
  const offset = zone === "local" ? new Date(ms).getTimezoneOffset() * MINUTE : 0;
  return new Date(ms - offset).toISOString().slice(0, 16).replace("T", " ");
}

/** Reads a day, or a day and a time, in the zone of the page unless it ends in Z; NaN for any other text. */
export function momentOf(text: string, zone: Zone): number {
  const [, day, time = "00:00", utc] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z)?)?$/.exec(text.trim()) ?? [];
  if (day === undefined || !isDay(day)) return Number.NaN;
  return Date.parse(zone === "local" && utc === undefined ? `${day}T${time}` : `${day}T${time}Z`);
}

/** The day after `2026-11-23`. */
export function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00Z`) + DAY).toISOString().slice(0, 10);
}
