import { type Address, type Range, ranges } from "../address.js";
import { HOUR } from "../duration.js";
import type { Zone } from "../format.js";
import { gridOf, spanOf, type Viewed } from "../time-window.js";

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
  const grid = gridOf(preset === "last month" ? "1mo" : "1d", zone);
  const start = grid.startOf(now);
  if (preset === "today") return { from: start, to: (Math.floor(now / HOUR) + 1) * HOUR };
  return { from: grid.startOf(start - 1), to: start };
}

/**
 * Returns the window of the same length before (-1) or after (1) the window of a view: the range itself if that window
 * ends about now, undefined if it would begin after now.
 */
export function movedWindow(viewed: Viewed, direction: -1 | 1): Partial<Address> | undefined {
  const { now } = viewed;
  const { from, to } = spanOf(viewed);
  const moved = { from: from + direction * (to - from), to: to + direction * (to - from) };
  const isAsLong = (range: Range) => {
    const own = spanOf({ ...viewed, address: { ...viewed.address, range, from: undefined, to: undefined } });
    return own.to - own.from === to - from;
  };
  if (Math.abs(now - moved.to) < HOUR) {
    const range = ranges.find(isAsLong);
    if (range !== undefined) return { range, from: undefined, to: undefined };
  }
  return moved.from >= now ? undefined : moved;
}
