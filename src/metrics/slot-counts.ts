/** Messages counted for a stream in the slot that starts at `slot` (Unix ms). */
export interface SlotCount {
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  /** What a store needs to note that this count was saved, and to see whether another recorder has saved the slot since. */
  readonly token?: unknown;
}

/** A stream that took messages. */
export interface CountedStream {
  readonly stream: string;
  /** When the newest of its messages arrived, Unix ms. Never goes back: an erasure or the retention of messages leaves it. */
  readonly lastArrival: number;
}

/** PORT. Counts of the messages of streams. */
export interface SlotCounts {
  /** Counts of slots starting before `before` that were never saved, or have grown since; oldest first, at most `limit`. */
  unsaved(before: number, limit: number): Promise<SlotCount[]>;
  /**
   * Notes what was saved. A count that has grown meanwhile stays unsaved, and so does one whose slot another recorder saved since this
   * one was read: which of the two was written last is not known. Safe to repeat.
   */
  saved(counts: readonly SlotCount[]): Promise<void>;
  /** Streams that took messages, by name, after the one named `after`; at most `limit`. */
  streams(after: string | undefined, limit: number): Promise<CountedStream[]>;
  /** What is counted for these streams in slots that start in [from, to), Unix ms; a slot without messages may be absent, another in parts. */
  counted(streams: readonly string[], from: number, to: number): Promise<SlotCount[]>;
}
