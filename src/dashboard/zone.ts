import { type TimeZone, timeZone, utc } from "../formats/time-zone.js";

/** Time zone of the page: UTC, or the browser's zone. */
export type Zone = "UTC" | "local";

let local: TimeZone | undefined;

/** Returns the time zone of the page; UTC for a browser that does not know its own. */
export function timeZoneOf(zone: Zone): TimeZone {
  if (zone === "UTC") return utc;
  local ??= timeZone(new Intl.DateTimeFormat().resolvedOptions().timeZone) ?? utc;
  return local;
}

/** The name of a zone of the page: `UTC`, `Europe/Oslo`. */
export const zoneName = (zone: Zone): string => timeZoneOf(zone).name;
