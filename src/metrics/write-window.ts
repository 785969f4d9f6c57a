/** A point may be this much ahead of our clock. */
const AHEAD_MS = 10 * 60_000;

/** 2000-01-01: what lies before it was meant in another unit than ms. */
const EARLIEST = Date.UTC(2000, 0, 1);

/** The points that are taken: those at `to` (Unix ms) or before, in slots that start at `from` or after. */
export interface WriteWindow {
  readonly from: number;
  readonly to: number;
}

/** What may be written `now`, into a store that keeps points for `keep` ms (for ever when undefined). */
export function writeWindow(now: number, keep: number | undefined): WriteWindow {
  return { from: Math.max(EARLIEST, keep === undefined ? 0 : now - keep), to: now + AHEAD_MS };
}

/** Whether a point at a moment (Unix ms), in a slot of `slotMs`, is taken. */
export function isInWindow(ms: number, slotMs: number, { from, to }: WriteWindow): boolean {
  return ms <= to && ms - (ms % slotMs) >= from;
}

/** Why a moment outside of the window is refused. */
export function instantIssue(ms: number, window: WriteWindow): { code: string; message: string } {
  if (ms > window.to)
    return { code: "too_far_ahead", message: "The time is more than 10 minutes ahead, or not in the unit expected" };
  if (ms < EARLIEST) return { code: "too_old", message: "The time is before 2000-01-01, or not in the unit expected" };
  return { code: "before_retention", message: "The time is before what the store keeps" };
}
