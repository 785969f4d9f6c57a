import { applyBatch, type BatchParts } from "./apply-batch.js";
import type { BatchMessage } from "./batch-message.js";
import type { HistoryMessage } from "./history.js";
import { decodeMessage } from "./message.js";
import { sealing } from "./sealed.js";

const BATCH = 500;

/** What the history keeps already was within the limits. */
const NO_LIMITS = { maxValues: Number.POSITIVE_INFINITY, entityBytes: Number.POSITIVE_INFINITY };

/**
 * Finishes what writers left behind: messages pending since before `before` (arrival, Unix ms) are applied and counted, or
 * dropped where the key of their entity is gone. Resolves with how many there were. Safe to repeat, and beside writers.
 */
export async function finishPending(parts: BatchParts, before: number): Promise<number> {
  let finished = 0;
  for (;;) {
    const pending = await parts.history.pending(before, BATCH);
    if (pending.length === 0) return finished;
    await finish(parts, pending);
    finished += pending.length;
  }
}

async function finish(parts: BatchParts, pending: readonly HistoryMessage[]): Promise<void> {
  const plain = await sealing(parts.entityKeys).open(pending);
  const lost: string[] = [];
  const batch: BatchMessage[] = [];
  pending.forEach(({ id, table, stream, entity, hashes, time, arrival, position }, index) => {
    const bytes = plain[index];
    if (bytes === undefined) lost.push(id);
    else {
      const stamp = { time, arrival, position };
      batch.push({ id, table, stream, message: decodeMessage(bytes), hashes, stamp, entity });
    }
  });
  if (lost.length > 0) await parts.history.drop(lost);
  await applyBatch(parts, batch, NO_LIMITS, true);
}
