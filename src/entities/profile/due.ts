import { DAY } from "../../formats/time-zone.js";

/**
 * Returns when rules must be decided again that change at `changesAt` (Unix ms; Infinity: never). It is never late. A
 * later day is rounded down, because the instant of an attribute, such as a birthday, is personal. The stored time
 * stays if it is earlier: most messages move it by a little, and each new time costs a write to its index.
 */
export function dueAt(changesAt: number, stored: number | undefined, now: number): number | undefined {
  const due = changesAt - now > DAY ? Math.floor(changesAt / DAY) * DAY : changesAt;
  if (stored !== undefined && stored > now && stored <= due) return stored;
  return due === Number.POSITIVE_INFINITY ? undefined : due;
}
