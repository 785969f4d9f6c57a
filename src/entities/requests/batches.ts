import { yieldWhenDue } from "../../async/yielding.js";
import { issueOf, type ValidationIssue } from "../../errors.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";

/** One unparsed item of a request. */
export interface RequestItem<T> {
  /** The text as sent, or a replacement for it: equal texts mean equal items. */
  readonly text: string;
  /** Estimated memory of the parsed item, bytes. */
  readonly bytes: number;
  /** Parses the item, with the same result in each call. Throws `invalid` with one issue. */
  parse(): T;
  /** Returns the position of an issue of this item in the request. */
  place(path: string): string;
}

/** Items of a request of any length. */
export interface RequestItems<T> {
  /** Items as they arrive, or in a list of lists. */
  readonly items: AsyncIterable<readonly RequestItem<T>[]> | Iterable<readonly RequestItem<T>[]>;
  /** Reserves memory for each batch while it is in progress. */
  readonly memory: Reservation;
}

/** A parsed item, or the issue of an item that is rejected. */
export type ReadItem<T> =
  | { readonly item: RequestItem<T>; readonly value: T; readonly issue?: never }
  | { readonly item: RequestItem<T>; readonly value?: never; readonly issue: ValidationIssue };

/** Copies of an item in memory while its batch is in progress: the parsed one and the stored one. */
const COPIES_IN_MEMORY = 2;

/**
 * Splits the items of a request into batches of this weight. Each batch but the last is full; its last item may exceed
 * the weight. The same body is always split in the same places, so a repeat can be compared batch by batch.
 */
export async function* batchesOf<T>(
  { items, memory }: RequestItems<T>,
  maxWeight: number,
  weightOf: (read: ReadItem<T>) => number,
): AsyncGenerator<readonly ReadItem<T>[]> {
  let batch: ReadItem<T>[] = [];
  let weight = 0;
  let bytes = 0;
  let reserved = 0;
  for await (const arrived of items) {
    for (const item of arrived) {
      await yieldWhenDue();
      bytes += item.bytes;
      if (bytes > UNCOUNTED_BYTES) {
        memory.reserve(COPIES_IN_MEMORY * bytes - reserved);
        reserved = COPIES_IN_MEMORY * bytes;
      }
      const read = readItem(item);
      batch.push(read);
      weight += weightOf(read);
      if (weight < maxWeight) continue;
      yield batch;
      memory.release(reserved);
      batch = [];
      weight = bytes = reserved = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** Parses an item. Errors that concern more than this item are rethrown. */
function readItem<T>(item: RequestItem<T>): ReadItem<T> {
  try {
    return { item, value: item.parse() };
  } catch (error) {
    return { item, issue: issueOf(error) };
  }
}
