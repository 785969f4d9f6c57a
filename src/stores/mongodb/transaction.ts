import {
  type ClientSession,
  type Db,
  type MongoClient,
  MongoOperationTimeoutError,
  ReadConcern,
  type UUID,
} from "mongodb";
import { type Background, inBackground, retry } from "../../async/retry.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Log } from "../../log.js";
import { isDuplicate } from "./errors.js";

/**
 * Runs `work` in a multi-document transaction: all that it writes with the session is kept, or nothing. Once `late` has aborted it rejects with the
 * reason, and no commit is sent any more.
 */
export type Transact = <T>(work: (session: ClientSession) => Promise<T>, late?: AbortSignal) => Promise<T>;

/** Thrown by the work of a transaction that must keep nothing, as something is not as it was expected to be. */
export class Conflict extends Error {
  override readonly name = "Conflict";
}

/**
 * Transactions that read a snapshot of a majority and are kept by a majority, on disk. One that meets another writer at a document is run
 * again from its start, as is one whose server went away; a commit whose answer was lost is sent again. All of it ends for the caller with the
 * deadline (ms), which the driver itself does not know: then it rejects, no commit is sent any more, and whether one that was sent is kept is not
 * known. Operations of one session must follow each other.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/
 */
export function transactions(client: MongoClient, deadlineMs: number): Transact {
  async function once<T>(work: (session: ClientSession) => Promise<T>, deadline: AbortSignal): Promise<T> {
    const session = client.startSession();
    const unlessLate = async () => {
      deadline.throwIfAborted();
      const result = await work(session);
      deadline.throwIfAborted();
      return result;
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

  function untilDone<T>(work: (session: ClientSession) => Promise<T>, deadline: AbortSignal): Promise<T> {
    // The driver itself runs nothing again that found its connections closed, though nothing of it was sent.
    const pauseAfter = (error: unknown) =>
      error instanceof Error && error.name === "MongoPoolClearedError" && !deadline.aborted ? PAUSE_MS : undefined;
    return retry(() => once(work, deadline), pauseAfter, { signal: deadline });
  }

  return (work, late) =>
    withTimeLimit(deadlineMs, late === undefined ? [] : [late], (deadline) => untilDone(work, deadline)).catch(
      (error: unknown) => {
        throw error instanceof DOMException ? new MongoOperationTimeoutError(error.message) : error;
      },
    );
}

const PAUSE_MS = 50;

/** The same for work that may meet what it does not expect: false, with nothing kept, when it throws `Conflict` or writes a unique value twice. */
export async function unlessConflict(
  transact: Transact,
  work: (session: ClientSession) => Promise<void>,
  late?: AbortSignal,
): Promise<boolean> {
  try {
    await transact(work, late);
    return true;
  } catch (error) {
    if (error instanceof Conflict || isDuplicate(error)) return false;
    throw error;
  }
}

/** Time between two looks, ms. */
const LOOK_MS = 2_000;
/** A transaction of a process that runs waits for its next operation for milliseconds. */
const ABANDONED_MS = 5_000;

/**
 * Aborts transactions that were left open by a process that was killed, until `stop` is called. The server itself keeps each for a minute
 * (`transactionLifetimeLimitSeconds`), and whatever writes to the same documents waits or fails meanwhile. They are those of clients of this name. A
 * process that only stood still runs its transaction again. Needs no right: a user may see and end sessions of its own.
 */
export function abortAbandoned(admin: Db, appName: string, log: Pick<Log, "warn">): Background {
  const idle = { type: "idleSession", "transaction.timeInactiveMicros": { $gt: ABANDONED_MS * 1_000 } };
  const abandoned = [{ $currentOp: { idleSessions: true } }, { $match: { appName, ...idle } }];
  const look = async () => {
    const found = await admin.aggregate<{ lsid: { id: UUID } }>(abandoned).toArray();
    if (found.length === 0) return;
    await admin.command({ killSessions: found.map(({ lsid }) => ({ id: lsid.id })) });
    log.warn({ transactions: found.length }, "transactions that another process had left open were aborted");
  };
  const tick = async () => {
    // A server that is away is reported by what needs it.
    await look().catch(() => {});
    return LOOK_MS;
  };
  return inBackground(tick, { ref: false });
}
