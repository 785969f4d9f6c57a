import { stream as dimension } from "./dimensions/stream.js";
import type { SlotCounts } from "./ports.js";
import { slotStart } from "./series.js";

/** What a stream takes. Times are Unix ms. */
export interface StreamActivity {
  readonly stream: string;
  readonly lastArrival: number;
  /** The slot that is open now, and the messages counted in it so far. */
  readonly slot: { readonly ts: number; readonly count: number };
  /** Messages of the last 24 slots that are over. */
  readonly day: number;
}

const DAY_SLOTS = 24;

/** Streams that took messages, by name, after the one named `after`; at most `limit`. */
export async function listStreams(
  counts: Pick<SlotCounts, "streams" | "counted">,
  now: number,
  after: string | undefined,
  limit: number,
): Promise<StreamActivity[]> {
  const open = slotStart(dimension, now);
  const streams = await counts.streams(after, limit);
  const names = streams.map(({ stream }) => stream);
  const counted = await counts.counted(names, open - DAY_SLOTS * dimension.slotMs, open + dimension.slotMs);
  const totals = new Map(names.map((name) => [name, { open: 0, day: 0 }]));
  for (const { stream, slot, count } of counted) {
    const total = totals.get(stream);
    if (total !== undefined) total[slot === open ? "open" : "day"] += count;
  }
  return streams.map(({ stream, lastArrival }) => {
    const total = totals.get(stream) ?? { open: 0, day: 0 };
    return { stream, lastArrival, slot: { ts: open, count: total.open }, day: total.day };
  });
}
