import { stream as streamDimension } from "./dimensions.js";
import type { SlotCount } from "./ports.js";
import { slotStart } from "./series.js";

/** A message to be counted. Times are Unix ms. */
export interface CountedMessage {
  readonly stream: string;
  /** Event time. */
  readonly time: number;
  readonly arrival: number;
}

/** Messages of one stream in one slot. */
export interface StreamCount extends Omit<SlotCount, "token"> {
  /** The newest arrival among them. */
  readonly arrival: number;
}

/** Returns the number of messages for each stream and slot of their event times; each pair once. */
export function streamCounts(messages: Iterable<CountedMessage>): StreamCount[] {
  const counts = new Map<string, StreamCount>();
  for (const { stream, time, arrival } of messages) {
    const slot = slotStart(streamDimension, time);
    const key = `${slot}/${stream}`;
    const { count, arrival: newest } = counts.get(key) ?? { count: 0, arrival };
    counts.set(key, { stream, slot, count: count + 1, arrival: Math.max(newest, arrival) });
  }
  return [...counts.values()];
}
