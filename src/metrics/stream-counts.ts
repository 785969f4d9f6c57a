import { stream as streamDimension } from "./dimensions.js";
import { slotStart } from "./series.js";

/** A message as it is counted. Times are Unix ms. */
export interface CountedMessage {
  readonly stream: string;
  /** Event time. */
  readonly time: number;
  readonly arrival: number;
}

/** Messages of one stream in one slot. */
export interface StreamCount {
  readonly stream: string;
  /** Start of the slot. */
  readonly slot: number;
  readonly messages: number;
  /** The newest arrival among them. */
  readonly arrival: number;
}

/** Start of the slot that a message counts for: that of its event time. */
export function countedSlot(time: number): number {
  return slotStart(streamDimension, time);
}

/** How often the messages count for which stream and slot; each pair once. */
export function streamCounts(messages: Iterable<CountedMessage>): StreamCount[] {
  const counts = new Map<string, StreamCount>();
  for (const { stream, time, arrival } of messages) {
    const slot = countedSlot(time);
    const key = `${slot}/${stream}`;
    const { messages: before, arrival: newest } = counts.get(key) ?? { messages: 0, arrival };
    counts.set(key, { stream, slot, messages: before + 1, arrival: Math.max(newest, arrival) });
  }
  return [...counts.values()];
}
