import { type Address, lengthOf, ranges } from "../address.js";
import { HOUR, msOf } from "../duration.js";
import type { Zone } from "../format.js";

/** A custom window [from, to), Unix ms. */
interface Window {
  readonly from: number;
  readonly to: number;
}

/** Windows of the calendar, in the zone of the page. */
export const presets = ["today", "yesterday", "last month"] as const;
export type Preset = (typeof presets)[number];

/** Returns the window of a preset at `now`, Unix ms. Today ends with the hour that is open. */
export function presetWindow(preset: Preset, now: number, zone: Zone): Window {
  if (preset === "today") return { from: midnight(now, 0, zone), to: (Math.floor(now / HOUR) + 1) * HOUR };
  if (preset === "yesterday") return { from: midnight(now, -1, zone), to: midnight(now, 0, zone) };
  return { from: firstOfMonth(now, -1, zone), to: firstOfMonth(now, 0, zone) };
}

/**
 * Returns the window of the same length before (-1) or after (1) the window of an address: the range itself if that
 * window ends about now, undefined if it would begin after `now`.
 */
export function movedWindow(address: Address, direction: -1 | 1, now: number): Partial<Address> | undefined {
  const length = lengthOf(address);
  const to = (address.to ?? now) + direction * length;
  const range = ranges.find((one) => msOf(one) === length);
  if (range !== undefined && Math.abs(now - to) < HOUR) return { range, from: undefined, to: undefined };
  return to - length >= now ? undefined : { from: to - length, to };
}

function midnight(now: number, days: number, zone: Zone): number {
  const date = new Date(now);
  if (zone === "UTC") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days).getTime();
}

function firstOfMonth(now: number, months: number, zone: Zone): number {
  const date = new Date(now);
  if (zone === "UTC") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
  return new Date(date.getFullYear(), date.getMonth() + months, 1).getTime();
}
