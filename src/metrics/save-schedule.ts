import { slotStart } from "./series.js";
import type { SeriesPlan } from "./series-plan.js";

/** How long a slot that is due is waited for. */
const PATIENCE = 60_000;

/** How soon to ask again meanwhile. */
const SOON = 5_000;

/** When the values of a series change, on schedule. Unix ms. */
export interface SaveSchedule {
  /** Every bucket that ends by then can no longer change. */
  readonly completeUntil: number;
  /** When asking again can show something new. */
  readonly nextSaveAt: number;
  /** Until then (Unix ms) the schedule stays as it is, if nothing is written. */
  readonly scheduledUntil: number;
}

/**
 * The schedule as of `now`. A count is saved when its slot has ended, within a minute; a size while its slot lasts, as early as
 * possible. `saved` are the slots of the plan that are saved, from the last one that was due on; of a slot outside of the
 * plan nothing is known.
 */
export function saveSchedule(plan: SeriesPlan, saved: readonly number[], now: number): SaveSchedule {
  const { dimension, window } = plan.request;
  const { slotMs, due } = dimension;
  const dueAt = slotStart(dimension, now);
  const last = due === "end" ? dueAt - slotMs : dueAt;
  const isSaved = saved.includes(last);
  const waited = now - dueAt >= PATIENCE;
  const complete = isSaved || (due === "end" && waited);
  const matters = window.to > last || window.to >= now;
  const completeUntil = complete ? last + slotMs : last;
  const nextSlot = dueAt + slotMs;
  if (isSaved || waited) return { completeUntil, nextSaveAt: nextSlot, scheduledUntil: nextSlot };
  if (matters) return { completeUntil, nextSaveAt: Math.min(now + SOON, nextSlot), scheduledUntil: now };
  return { completeUntil, nextSaveAt: nextSlot, scheduledUntil: dueAt + PATIENCE };
}
