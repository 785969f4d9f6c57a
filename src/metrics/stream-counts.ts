import { stream as streamDimension } from "./dimensions.js";
import { slotStart } from "./series.js";

/** A message to be counted. Times are Unix ms. */
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

/** Returns the start of the slot of a message: that of its event time. */
export function countedSlot(time: number): number {
  return slotStart(streamDimension, time);
}

/** Returns the number of messages for each stream and slot; each pair once. */
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
