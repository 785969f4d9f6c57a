import type { Db } from "mongodb";
import type { Deletion } from "../../deletions/deletion.js";
import { ServiceError } from "../../errors.js";
import { duplicatesOf } from "./collection.js";
import { mongoFailure } from "./failure.js";
import { deletionsOf, documentOf } from "./ledger-document.js";
import { newestSequence, renumber } from "./ledger-sequence.js";

/** Most requests that one insert carries. */
const BATCH = 100;

/** How often in a row other processes may be first to the next number. */
const TRIES = 200;

interface Waiting {
  readonly deletion: Deletion;
  resolve(sequence: number): void;
  reject(error: unknown): void;
}

/**
 * Accepts requests in the order of the calls. Each is one document, so that its insert is all or nothing; those that wait
 * for each other are inserted together. A number is the newest one plus 1 and unique: whoever is second to a number asks for
 * the newest again, so none appears below one that could be seen before.
 */
export function acceptQueue(db: Db): (deletion: Deletion) => Promise<number> {
  const requests = deletionsOf(db);
  const queue: Waiting[] = [];
  let running = false;
  /** The newest number as far as this process knows. */
  let newest: number | undefined;

  async function drain(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH);
      try {
        await acceptAll(batch);
      } catch (error) {
        newest = undefined;
        // Who waits behind would only wait for the same server. Those that were answered already hear nothing of it.
        const behind = mongoFailure(error) === undefined ? [] : queue.splice(0);
        for (const { reject } of [...batch, ...behind]) reject(error);
      }
    }
    running = false;
  }

  async function acceptAll(batch: readonly Waiting[]): Promise<void> {
    let left = batch;
    for (let tries = 0; left.length > 0; tries += 1) {
      if (tries > TRIES) throw new ServiceError("unavailable", "The ledger is busy", { retryAfter: 1 });
      const first = (newest ?? (await newestSequence(db))) + 1;
      const inserted = await insert(left, first);
      const accepted = left.slice(0, inserted);
      newest = first + inserted - 1;
      await renumber(db, new Map(accepted.map(({ deletion }, index) => [deletion.requestId, first + index])));
      accepted.forEach(({ resolve }, index) => {
        resolve(first + index);
      });
      left = left.slice(inserted);
      const [refused] = left;
      if (refused === undefined) return;
      if (inserted > 0) tries = 0;
      if ((await requests.findOne({ _id: refused.deletion.requestId })) === null) newest = undefined;
      else {
        refused.reject(new Error("The ledger has a request of this id"));
        left = left.slice(1);
      }
    }
  }

  /** How many were inserted, from the first on, before one of them met a number or an id that is there. */
  async function insert(waiting: readonly Waiting[], first: number): Promise<number> {
    const documents = waiting.map(({ deletion }, index) => documentOf(deletion, first + index));
    try {
      await requests.insertMany(documents, { ordered: true });
      return documents.length;
    } catch (error) {
      return Math.min(...duplicatesOf(error));
    }
  }

  return (deletion) =>
    new Promise((resolve, reject) => {
      queue.push({ deletion, resolve, reject });
      if (!running) void drain();
    });
}
