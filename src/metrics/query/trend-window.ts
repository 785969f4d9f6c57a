import { evenGrid } from "../../formats/buckets.js";
import { type TimeZone, utc } from "../../formats/time-zone.js";
import { isCounted } from "../dimensions.js";
import { nextSlot, slotStart } from "../series.js";
import { writeWindow } from "../writable-points.js";
import type { SeriesOf } from "./search-slots.js";
import { type RequestedWindow, timeWindow } from "./time-window.js";

/** Two values of one series; undefined where nothing is saved. */
export interface Trend {
  /** The value at the end of a window; of counts, the sum over the window. */
  readonly now: number | undefined;
  /** The first value from its start on; of counts, the sum over the window of the same length before it. */
  readonly before: number | undefined;
  /** The part of `now` that is compared, of counts: the slots that both windows have; null if they have none. */
  readonly compared?: number | null;
  /**
   * Start of the slot of `before`, or of the first compared slot (Unix ms), if the series begins after the start of its
   * window.
   */
  readonly since?: number;
}

/** Slots of a trend, and the slots that can have a value. All in Unix ms; all but `backMs` are slot boundaries. */
export interface TrendWindow {
  /** End of the window, exclusive. */
  readonly to: number;
  /** Start of the window; undefined for sampled values without fixed dates. */
  readonly from?: number | undefined;
  /** The time from the slot of `before` to the slot of the newest value, if it replaces `from`. */
  readonly backMs?: number | undefined;
  /** Start of the first slot, and end of the last slot, that can have a value. */
  readonly firstKept: number;
  readonly writableTo: number;
}

/**
 * Returns the slots of a requested window as of `now`, of series whose slots are kept for `retention` ms. With dates
 * they are the slots that `/api/metric` returns for them. With a range, counts have only slots that have ended. Throws
 * as `timeWindow` does.
 */
export function trendWindow(
  series: Pick<SeriesOf, "dimension" | "type">,
  asked: RequestedWindow & { readonly zone?: TimeZone },
  now: number,
  retention: number | undefined,
): TrendWindow {
  const { dimension } = series;
  const { slotMs } = dimension;
  const writable = writeWindow(now, retention);
  const bounds = {
    firstKept: nextSlot(dimension, writable.from),
    writableTo: slotStart(dimension, writable.to) + slotMs,
  };
  const open = slotStart(dimension, now);
  const isCount = isCounted(series);
  const end = isCount ? open : open + slotMs;
  if (!isRequested(asked)) return { ...bounds, to: end };
  const { from, to, backMs = 0 } = timeWindow(asked, { grid: evenGrid(slotMs), zone: asked.zone ?? utc }, now);
  if (asked.range === undefined) return { ...bounds, from: nextSlot(dimension, from), to: nextSlot(dimension, to) };
  return isCount ? { ...bounds, from: end - nextSlot(dimension, backMs), to: end } : { ...bounds, to: end, backMs };
}

/** Returns whether a window is requested. */
export function isRequested({ start, end, range }: RequestedWindow): boolean {
  return start !== undefined || end !== undefined || range !== undefined;
}
