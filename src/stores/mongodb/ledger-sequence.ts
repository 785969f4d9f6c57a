import type { Db } from "mongodb";
import { isDuplicate } from "./collection.js";
import { deletionsOf } from "./ledger-document.js";
import { numberOf, raiseTo } from "./marks.js";

/** The mark that holds the newest number that was ever forgotten: numbers up to it are not given again. */
export const FORGOTTEN = "forgotten";

/** The newest number that a request has or had; 0 at first. */
export async function newestSequence(db: Db): Promise<number> {
  const [newest] = await deletionsOf(db).find().project({ sequence: 1 }).sort({ sequence: -1 }).limit(1).toArray();
  return Math.max((newest as { sequence: number } | undefined)?.sequence ?? 0, await numberOf(db, FORGOTTEN));
}

/** Forgets requests completed before `before`. Their newest number is noted first, so that a crash between the two frees none. */
export async function expireUpTo(db: Db, before: number, note: (newest: number) => Promise<void>): Promise<void> {
  const requests = deletionsOf(db);
  const old = { open: false, completedAt: { $lt: before } };
  const [newest] = await requests.find(old).sort({ sequence: -1 }).limit(1).toArray();
  if (newest === undefined) return;
  await note(newest.sequence);
  await raiseTo(db, FORGOTTEN, newest.sequence);
  await requests.deleteMany({ ...old, sequence: { $lte: newest.sequence } });
}

/**
 * Gives a request a number above all others when its own is one that was forgotten meanwhile: its writer slept between
 * asking for the newest number and using the next one, for so long that others took it and their request was forgotten.
 */
export async function renumber(db: Db, sequences: ReadonlyMap<string, number>): Promise<void> {
  const forgotten = await numberOf(db, FORGOTTEN);
  for (const [requestId, sequence] of sequences) {
    if (sequence <= forgotten) await moveUp(db, requestId);
  }
}

async function moveUp(db: Db, requestId: string): Promise<void> {
  for (;;) {
    const sequence = (await newestSequence(db)) + 1;
    try {
      await deletionsOf(db).updateOne({ _id: requestId }, { $set: { sequence } });
      return;
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  }
}
