import { setTimeout as sleep } from "node:timers/promises";
import { type ClientSession, type MongoClient, MongoOperationTimeoutError, ReadConcern } from "mongodb";
import { withTimeLimit } from "../../time-limit.js";
import { isDuplicate } from "./failure.js";

/** Runs `work` in a multi-document transaction: all that it writes with the session is kept, or nothing. */
export type Transact = <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;

/** Thrown by the work of a transaction that must keep nothing, as something is not as it was expected to be. */
export class Conflict extends Error {
  override readonly name = "Conflict";
}

/**
 * Transactions that read a snapshot of a majority and are kept by a majority, on disk. One that meets another writer at a document is run
 * again from its start, as is one whose server went away; a commit whose answer was lost is sent again. All of it ends for the caller with the
 * deadline (ms), which the driver itself does not know: then it rejects, and whether the transaction is kept is not known. Operations of one session
 * must follow each other.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/
 */
export function transactions(client: MongoClient, deadlineMs: number): Transact {
  async function once<T>(work: (session: ClientSession) => Promise<T>, deadline: AbortSignal): Promise<T> {
    const session = client.startSession();
    const unlessLate = async () => {
      deadline.throwIfAborted();
      return work(session);
    };
    try {
      return await session.withTransaction(unlessLate, {
        readPreference: "primary",
        readConcern: new ReadConcern("snapshot"),
        writeConcern: { w: "majority", journal: true },
      });
    } finally {
      await session.endSession();
    }
  }

  async function untilDone<T>(work: (session: ClientSession) => Promise<T>, deadline: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await once(work, deadline);
      } catch (error) {
        // The driver itself runs nothing again that found its connections closed, though nothing of it was sent.
        if (!(error instanceof Error && error.name === "MongoPoolClearedError") || deadline.aborted) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  return (work) =>
    withTimeLimit(deadlineMs, [], (deadline) => untilDone(work, deadline)).catch((error: unknown) => {
      throw error instanceof DOMException ? new MongoOperationTimeoutError(error.message) : error;
    });
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
