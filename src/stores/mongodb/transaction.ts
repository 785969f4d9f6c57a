import {
  type ClientSession,
  type Db,
  type MongoClient,
  MongoError,
  MongoOperationTimeoutError,
  ReadConcern,
  type UUID,
} from "mongodb";
import { type Background, inBackground } from "../../async/retry.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { Log } from "../../log.js";
import { isDuplicate } from "./errors.js";

/**
 * Runs `work` in a transaction: all writes of the session are stored or none. A single write that later ones can
 * replace needs one too, as the server may execute a command long after its process has given up. Outside of a
 * transaction such a write would replace newer, acknowledged ones. In a transaction it is never committed, and as long
 * as a late commit can succeed, other writers of the document conflict.
 */
export type Transact = <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;

/** Thrown to abort a transaction whose expectations are not met. */
export class Conflict extends Error {
  override readonly name = "Conflict";
}

/**
 * Transactions that read a snapshot of a majority and are acknowledged by a majority, on disk. A transaction that
 * conflicts with another writer, or whose server became unreachable, runs again from its start; a commit without a
 * response is sent again. The driver does not know the deadline (ms): when it passes, the call rejects and sends no
 * further commit, but a commit that was sent may be stored. Operations of one session must run one after another.
 * https://www.mongodb.com/docs/manual/core/transactions-in-applications/
 */
export function transactions(client: MongoClient, deadlineMs: number): Transact {
  return (work) =>
    withTimeLimit(deadlineMs, [], (deadline) => {
      const unlessLate = async (session: ClientSession) => {
        deadline.throwIfAborted();
        const result = await work(session).catch(markTransient);
        deadline.throwIfAborted();
        return result;
      };
      return client.withSession((session) => session.withTransaction(unlessLate, promised));
    }).catch((error: unknown) => {
      throw error instanceof DOMException ? new MongoOperationTimeoutError(error.message) : error;
    });
}

const promised = {
  readPreference: "primary",
  readConcern: new ReadConcern("snapshot"),
  writeConcern: { w: "majority", journal: true },
} as const;

/**
 * Marks an error as temporary that the driver does not mark: the driver found its connections closed and sent nothing.
 */
function markTransient(error: unknown): never {
  if (error instanceof MongoError && error.name === "MongoPoolClearedError")
    error.addErrorLabel("TransientTransactionError");
  throw error;
}

/**
 * Runs work and returns true. Returns false, and stores nothing, if the work throws `Conflict` or violates a unique
 * index.
 */
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

/** Interval between two checks, ms. */
const LOOK_MS = 2_000;
/** A running process continues its transaction within milliseconds. */
const ABANDONED_MS = 5_000;

/**
 * Aborts transactions left open by killed processes, until `stop` is called. The server would keep each for a minute
 * (`transactionLifetimeLimitSeconds`), and writers to the same documents would wait or fail. Only transactions of
 * clients with this name are aborted. A process that was merely paused runs its transaction again. Needs no privilege:
 * a user may list and end its own sessions.
 */
export function abortAbandoned(admin: Db, appName: string, log: Pick<Log, "warn">): Background {
  const idle = { type: "idleSession", "transaction.timeInactiveMicros": { $gt: ABANDONED_MS * 1_000 } };
  const abandoned = [{ $currentOp: { idleSessions: true } }, { $match: { appName, ...idle } }];
  const look = async () => {
    const found = await admin.aggregate<{ lsid: { id: UUID } }>(abandoned).toArray();
    if (found.length === 0) return;
    await admin.command({ killSessions: found.map(({ lsid }) => ({ id: lsid.id })) });
    log.warn({ transactions: found.length }, "aborted transactions that another process had left open");
  };
  const tick = async () => {
    // Calls that need the server report that it is unreachable.
    await look().catch(() => {});
    return LOOK_MS;
  };
  return inBackground(tick);
}
