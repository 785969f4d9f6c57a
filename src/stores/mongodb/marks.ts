import type { Collection, Db } from "mongodb";
import type { ErasureWatermark } from "../../deletions/ports.js";
import { byIds, type CollectionPlan, type InSession } from "./collection.js";
import { isDuplicate } from "./errors.js";

/** Single facts about a database, each a document under a name of its own. */
export const marks: CollectionPlan = { name: "marks", indexes: [] };

/** The wrapped key of receipts. */
export const RECEIPT_KEY = "receipt key";

/** The newest number of a deletion that was ever forgotten. In the ledger: numbers up to it are not given again. */
export const FORGOTTEN = "forgotten";

interface Mark {
  readonly _id: string;
  /** A text that is set once and stays. */
  readonly text?: string;
  /** A number that only goes up. */
  readonly number?: number;
}

export function marksOf(db: Db): Collection<Mark> {
  return db.collection<Mark>(marks.name);
}

/** The text under this name; undefined where it was never set. */
export async function textOf(db: Db, name: string, readConcern?: "majority"): Promise<string | undefined> {
  return (await marksOf(db).findOne({ _id: name }, readConcern === undefined ? {} : { readConcern }))?.text;
}

/** Sets the text under this name unless it is set; resolves with the one that is there then, the same for all processes that call at once. */
export async function textOnce(db: Db, name: string, text: string): Promise<string> {
  try {
    await marksOf(db).insertOne({ _id: name, text });
    return text;
  } catch (error) {
    // What a change of primary may still take back is not kept: another text could be kept after it.
    const kept = isDuplicate(error) ? await textOf(db, name, "majority") : undefined;
    if (kept === undefined) throw error;
    return kept;
  }
}

/** The number under this name, 0 at first. */
export async function numberIn(db: Db, name: string, inside: InSession = {}): Promise<number> {
  return (await marksOf(db).findOne({ _id: name }, inside))?.number ?? 0;
}

/** Brings the number under this name to at least `number`. Safe to repeat. */
export async function raiseTo(db: Db, name: string, number: number, inside: InSession = {}): Promise<void> {
  await marksOf(db).updateOne({ _id: name }, { $max: { number } }, { upsert: true, ...inside });
}

const ERASED = "erased";
/** The newest number of a request. In the data. */
export const ACCEPTED = "accepted";

/** How much of the ledger the database of the profiles has seen. */
export function mongoErasureWatermark(db: Db): ErasureWatermark {
  return {
    read: () => numberIn(db, ERASED),
    write: (sequence) => raiseTo(db, ERASED, sequence),
    noteForgotten: (sequence) => raiseTo(db, FORGOTTEN, sequence),
  };
}

/** Numbers of requests: up to which all are erased in the data, the newest accepted, the newest that may be forgotten. */
export async function seenBy(db: Db) {
  const found = await marksOf(db)
    .find(byIds<Mark>([ERASED, ACCEPTED, FORGOTTEN]))
    .toArray();
  const numberOfMark = (name: string) => found.find(({ _id }) => _id === name)?.number ?? 0;
  return { erased: numberOfMark(ERASED), accepted: numberOfMark(ACCEPTED), forgotten: numberOfMark(FORGOTTEN) };
}
