/** Messages counted for a stream in the slot that starts at `slot` (Unix ms). */
export interface SlotCount {
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  /** What a store needs to note that this count was saved, and to see whether another recorder has saved the slot since. */
  readonly token?: unknown;
}

/** PORT. Stream counts that the recorder has still to save. */
export interface SlotCounts {
  /** Counts of slots starting before `before` that were never saved, or have grown since; oldest first, at most `limit`. */
  unsaved(before: number, limit: number): Promise<SlotCount[]>;
  /**
   * Notes what was saved. A count that has grown meanwhile stays unsaved, and so does one whose slot another recorder saved since this
   * one was read: which of the two was written last is not known. Safe to repeat.
   */
  saved(counts: readonly SlotCount[]): Promise<void>;
}
