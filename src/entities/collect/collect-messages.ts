import { groupedCalls } from "../../async/grouped-calls.js";
import { KeyedMutex } from "../../async/keyed-mutex.js";
import { isOfData, type ToServiceError } from "../../errors.js";
import type { BatchMessage, Message } from "../profile/message.js";
import { applyBatch, type BatchDependencies, MAX_UPDATES } from "./apply-batch.js";
import type { Outcomes } from "./plan-batch.js";

export interface CollectDependencies extends BatchDependencies {
  readonly toServiceError: ToServiceError;
}

/**
 * Collects messages of one request, in order. Resolves, when they are durable, applied and counted, with the messages
 * that are not stored as sent. Once the request is late, rejects with its reason and starts no commit of these
 * messages. Safe to repeat with the same ids.
 */
export type CollectMessages = (messages: readonly BatchMessage[]) => Promise<Outcomes>;

/** Concurrent batches. */
const CONCURRENT_COMMITS = 4;

/** Weight of a full batch: 500 messages of typical size. */
export const MAX_BATCH_WEIGHT = 500;

/** Limits of a batch. With `PROFILE_BYTES` and `MAX_UPDATES` they bound the time and memory of a commit. */
const MAX_BYTES = 1_048_576;
const MAX_IDENTITIES = 1_000;

/**
 * Returns the weight of a message in a batch. A batch has at most 500 messages, 1 MiB of memory, 1,000 identities to
 * look up and bind, and names 5,000 segments. `bytes` is the estimated memory of the message.
 */
export function weightOf(bytes: number, message: Message | undefined): number {
  const { identities = [], segments: { add, remove } = { add: [], remove: [] } } = message ?? {};
  const updates = (add.length + remove.length) / MAX_UPDATES;
  const share = Math.max(bytes / MAX_BYTES, identities.length / MAX_IDENTITIES, updates);
  return Math.max(1, share * MAX_BATCH_WEIGHT);
}

/** Creates the collector for these stores. Concurrent requests share commits. */
export function collectMessages(dependencies: CollectDependencies): CollectMessages {
  const mutex = new KeyedMutex();
  // Batches with a common identity would conflict and be planned again.
  const work = (batch: readonly BatchMessage[]) =>
    mutex.run(
      batch.flatMap(({ hashes }) => hashes),
      () =>
        applyBatch(
          dependencies,
          batch.filter(({ late }) => !late.aborted),
        ),
    );
  const submit = groupedCalls(work, {
    most: MAX_BATCH_WEIGHT,
    weightOf: ({ weight }) => weight,
    atOnce: CONCURRENT_COMMITS,
    // A damaged profile fails only the requests about it.
    isOfOneCall: (error) => isOfData(error, dependencies.toServiceError),
  });
  return async (batch) => {
    if (batch.length === 0) return new Map();
    const outcomes = await submit(batch);
    batch[0]?.late.throwIfAborted();
    return outcomes;
  };
}
