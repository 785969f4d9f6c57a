import { setTimeout as sleep } from "node:timers/promises";
import { type ClientSession, type MongoClient, ReadConcern } from "mongodb";
import { isDuplicate } from "./failure.js";

/** Runs `work` in a multi-document transaction: all that it writes with the session is kept, or nothing. */
export type Transact = <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;

/** Thrown by the work of a transaction that must keep nothing, as something is not as it was expected to be. */
export class Conflict extends Error {
  override readonly name = "Conflict";
}

/**
 * Transactions that read a snapshot of a majority and are kept by a majority, on disk. One that meets another writer at a document is run
 * again from its start, as is one whose server went away; a commit whose answer was lost is sent again. Both end with the deadline
 * (ms), and then reject with what the server or the driver said last. Operations of one session must follow each other.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/
 */
export function transactions(client: MongoClient, deadlineMs: number): Transact {
  async function once<T>(work: (session: ClientSession) => Promise<T>, timeoutMS: number): Promise<T> {
    const session = client.startSession();
    try {
      return await session.withTransaction(() => work(session), {
        readPreference: "primary",
        readConcern: new ReadConcern("snapshot"),
        writeConcern: { w: "majority", journal: true },
        timeoutMS,
      });
    } finally {
      await session.endSession();
    }
  }

  return async (work) => {
    const until = performance.now() + deadlineMs;
    for (;;) {
      try {
        return await once(work, Math.max(1, until - performance.now()));
      } catch (error) {
        // The driver itself runs nothing again that found its connections closed, though nothing of it was sent.
        if (!(error instanceof Error && error.name === "MongoPoolClearedError") || performance.now() > until)
          throw error;
        await sleep(PAUSE_MS);
      }
    }
  };
}

const PAUSE_MS = 50;

/** The same for work that may meet what it does not expect: false, with nothing kept, when it throws `Conflict` or writes a unique value twice. */
export async function unlessConflict(
  transact: Transact,
  work: (session: ClientSession) => Promise<void>,
): Promise<boolean> {
  try {
    await transact(work);
    return true;
  } catch (error) {
    if (error instanceof Conflict || isDuplicate(error)) return false;
    throw error;
  }
}
