import { ServiceError } from "../errors.js";
import { applyBatch, type BatchParts } from "./apply-batch.js";
import { applyInParts } from "./apply-in-parts.js";
import type { BatchMessage } from "./batch-message.js";
import type { HistoryMessage } from "./history.js";
import { decodeMessage } from "./message.js";
import { sealing } from "./sealed.js";

const BATCH = 500;

/** What the history keeps already was within the limits. */
const NO_LIMITS = {
  maxValues: Number.POSITIVE_INFINITY,
  entityBytes: Number.POSITIVE_INFINITY,
  segments: Number.POSITIVE_INFINITY,
};

export interface FinishParts extends BatchParts {
  /** What an error says of the store; undefined when it says nothing of it. */
  failureOf(error: unknown): ServiceError | undefined;
  /** Is told of each message that is set aside. */
  onSetAside?(id: string, error: unknown): void;
}

/**
 * Finishes what writers left behind: messages pending since before `before` (arrival, Unix ms) are applied and counted, or
 * dropped where the key of their entity is gone. One that cannot be applied is set aside, and the others go on; rejects only when a
 * store fails. Resolves with how many were finished. Safe to repeat, and beside writers.
 */
export async function finishPending(parts: FinishParts, before: number): Promise<number> {
  const apply = applyInParts(parts, applyBatch);
  /** Those that other writers are in the way of: the next call tries them again. */
  const busy = new Set<string>();
  let finished = 0;
  for (;;) {
    const oldest = await parts.history.pending(before, BATCH + busy.size);
    const pending = oldest.filter(({ id }) => !busy.has(id));
    if (pending.length === 0) return finished;
    finished += await finish(pending);
  }

  /** Applies them together, or, where that fails, each half by itself, until the message is found that cannot be applied. */
  async function finish(pending: readonly HistoryMessage[]): Promise<number> {
    try {
      const lost: string[] = [];
      const batch = await opened(parts, pending, lost);
      if (lost.length > 0) await parts.history.drop(lost);
      await apply(batch, NO_LIMITS, true);
      return pending.length;
    } catch (error) {
      if (parts.failureOf(error) !== undefined) throw error;
      const [only] = pending;
      if (pending.length > 1) {
        const middle = Math.ceil(pending.length / 2);
        return (await finish(pending.slice(0, middle))) + (await finish(pending.slice(middle)));
      }
      if (only === undefined) return 0;
      if (error instanceof ServiceError) busy.add(only.id);
      else {
        await parts.history.setAside([only.id]);
        parts.onSetAside?.(only.id, error);
      }
      return 0;
    }
  }
}

/** The messages as they were sent; ids of those whose key is gone are added to `lost`. */
async function opened(
  { entityKeys }: BatchParts,
  pending: readonly HistoryMessage[],
  lost: string[],
): Promise<BatchMessage[]> {
  const plain = await sealing(entityKeys).open(pending);
  return pending.flatMap(({ id, table, stream, entity, hashes, time, arrival, position }, index) => {
    const bytes = plain[index];
    if (bytes !== undefined) {
      const stamp = { time, arrival, position };
      return [{ id, table, stream, message: decodeMessage(bytes), hashes, stamp, entity }];
    }
    lost.push(id);
    return [];
  });
}
