import type { Collection, Db } from "mongodb";
import type { DeletionWatermark } from "../../deletions/ports.js";
import { byIds, type CollectionPlan, type InSession } from "./collection.js";
import { isDuplicate } from "./errors.js";

/** Single facts about a database, each a document under its own name. */
export const marks: CollectionPlan = { name: "marks", indexes: [] };

/** The wrapped key of receipts. */
export const RECEIPT_KEY = "receipt key";

/** The newest number of a deletion ever forgotten. In the ledger: numbers up to it are not assigned again. */
export const FORGOTTEN = "forgotten";

interface Mark {
  readonly _id: string;
  /** A text that is set once. */
  readonly text?: string;
  /** A number that only increases. */
  readonly number?: number;
}

export function marksOf(db: Db): Collection<Mark> {
  return db.collection<Mark>(marks.name);
}

/** Returns the text under this name; undefined if it was never set. */
export async function textOf(db: Db, name: string, readConcern?: "majority"): Promise<string | undefined> {
  return (await marksOf(db).findOne({ _id: name }, readConcern === undefined ? {} : { readConcern }))?.text;
}

/**
 * Sets the text under this name unless it is set. Resolves with the stored text, which is the same for all concurrent
 * callers.
 */
export async function textOnce(db: Db, name: string, text: string): Promise<string> {
  try {
    await marksOf(db).insertOne({ _id: name, text });
    return text;
  } catch (error) {
    // A text that a change of primary may roll back does not count: another one could be stored after it.
    const kept = isDuplicate(error) ? await textOf(db, name, "majority") : undefined;
    if (kept === undefined) throw error;
    return kept;
  }
}

/** Returns the number under this name, 0 at first. */
export async function numberIn(db: Db, name: string, inside: InSession = {}): Promise<number> {
  return (await marksOf(db).findOne({ _id: name }, inside))?.number ?? 0;
}

/** Raises the number under this name to at least `number`. Safe to repeat. */
export async function raiseTo(db: Db, name: string, number: number, inside: InSession = {}): Promise<void> {
  await marksOf(db).updateOne({ _id: name }, { $max: { number } }, { upsert: true, ...inside });
}

const ERASED = "erased";
/** The newest number of a request that was ever assigned. In the data. */
export const ACCEPTED = "accepted";

/** Position in the ledger up to which the database of the profiles has been updated. */
export function mongoDeletionWatermark(db: Db): DeletionWatermark {
  return {
    read: () => numberIn(db, ERASED),
    write: (sequence) => raiseTo(db, ERASED, sequence),
    noteForgotten: (sequence) => raiseTo(db, FORGOTTEN, sequence),
  };
}

/**
 * Request numbers: all requests up to `erased` are erased in the data, the newest accepted one, the newest that may be
 * forgotten.
 */
export async function seenBy(db: Db) {
  const found = await marksOf(db)
    .find(byIds<Mark>([ERASED, ACCEPTED, FORGOTTEN]))
    .toArray();
  const numberOfMark = (name: string) => found.find(({ _id }) => _id === name)?.number ?? 0;
  return { erased: numberOfMark(ERASED), accepted: numberOfMark(ACCEPTED), forgotten: numberOfMark(FORGOTTEN) };
}
