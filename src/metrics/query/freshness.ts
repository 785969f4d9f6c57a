import { isCounted } from "../dimensions.js";
import { isSum, type Series, type SlotColumn, slotStart } from "../series.js";
import { countOf, type SeriesPlan } from "./plan.js";

/** Times until which the values of a series stay unchanged without writes: docs/freshness.md. All Unix ms. */
export interface Freshness {
  /** No scheduled save changes a bucket that ends by then. */
  readonly completeUntil: number;
  /** When polling again can return something new. */
  readonly nextSaveAt: number;
  /**
   * Until then the same request has the same response, including this schedule; not cacheable unless it is after now.
   */
  readonly freshUntil: number;
}

/** Maximum wait for a due slot, and polling interval during that wait, ms. */
export const SAVE_WAIT_MS = 60_000;
const POLL_AGAIN_MS = 5_000;

/** Returns the freshness of a plan's values as of `now`; slots are kept for `retention` ms. */
export function freshness(plan: SeriesPlan, isSaved: boolean, now: number, retention: number | undefined): Freshness {
  const schedule = saveSchedule(plan, isSaved, now);
  const expiresAt = retention === undefined ? Number.POSITIVE_INFINITY : plan.readFrom + retention;
  return { ...schedule, freshUntil: Math.min(schedule.freshUntil, windowUntil(plan), expiresAt) };
}

/**
 * Returns whether the newest due slot is saved in every column. Always false for sums, whose series are saved one after
 * the other.
 */
export function isSaved(
  plan: SeriesPlan,
  columns: readonly Pick<SlotColumn, "from" | "values">[],
  now: number,
): boolean {
  const { dimension } = plan.request;
  const due = newestDue(plan.request, now);
  if (due < plan.readFrom || due >= plan.to || plan.stored.some(isSum)) return false;
  return columns.every(({ from, values }) => !Number.isNaN(values[(due - from) / dimension.slotMs] ?? Number.NaN));
}

/**
 * Returns whether a result of `since` that is fresh until `freshUntil` is fresh at `now`. Setting the clock back ends
 * it too.
 */
export function isFresh({ since, freshUntil }: { since: number; freshUntil: number }, now: number): boolean {
  return since <= now && now < freshUntil;
}

/** Returns the start of the newest due slot: a count is due when its slot has ended, a size when its slot begins. */
export function newestDue(series: Pick<Series, "dimension" | "type">, now: number): number {
  const open = slotStart(series.dimension, now);
  return isCounted(series) ? open - series.dimension.slotMs : open;
}

/**
 * The recorder saves a count within a minute after its slot; it saves a size at any time of its slot, as early as
 * possible. A size that is missing for more than a minute may belong to a new segment, so clients poll again soon: in
 * fixed steps, so that a response is reused until the next one.
 */
function saveSchedule(plan: SeriesPlan, isSaved: boolean, now: number): Freshness {
  const { dimension, window } = plan.request;
  const due = newestDue(plan.request, now);
  const open = slotStart(dimension, now);
  const next = open + dimension.slotMs;
  const waited = now - open >= SAVE_WAIT_MS;
  const isComplete = isSaved || (isCounted(plan.request) && waited);
  const completeUntil = isComplete ? due + dimension.slotMs : due;
  if (isComplete) return { completeUntil, nextSaveAt: next, freshUntil: next };
  const isAwaited = window.to > due || window.to >= now;
  if (!isAwaited) return { completeUntil, nextSaveAt: next, freshUntil: waited ? next : open + SAVE_WAIT_MS };
  if (!waited) return { completeUntil, nextSaveAt: Math.min(now + POLL_AGAIN_MS, next), freshUntil: now };
  const step = now - ((now - open) % POLL_AGAIN_MS) + POLL_AGAIN_MS;
  return { completeUntil, nextSaveAt: step, freshUntil: step };
}

/**
 * Returns until when the same request has the same slots and buckets. A relative window changes when now reaches its
 * next slot or bucket; an absolute one changes while it has empty rows to come. Any other may change at every instant.
 */
function windowUntil({ request: { window, fillEmpty }, buckets, lead, filled, to }: SeriesPlan): number {
  const { backMs, steadyUntil = Number.POSITIVE_INFINITY } = window;
  if (window.isFixed) return fillEmpty && filled < countOf(buckets) ? 0 : Number.POSITIVE_INFINITY;
  if (backMs === undefined) return 0;
  const firstEnd = buckets[lead + 1] as number;
  return Math.min(firstEnd + backMs, buckets.at(-1) as number, to, steadyUntil);
}
