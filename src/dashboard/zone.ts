import { type TimeZone, timeZone, utc } from "../formats/time-zone.js";
import type { Zone } from "./format.js";

/** Returns the time zone of the page; UTC for a browser that does not know its own. */
export function timeZoneOf(zone: Zone): TimeZone {
  if (zone === "UTC") return utc;
  return timeZone(new Intl.DateTimeFormat().resolvedOptions().timeZone) ?? utc;
}
