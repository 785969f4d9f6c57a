import type { Collection, Db } from "mongodb";
import { type CollectionPlan, isDuplicate } from "./collection.js";

/** Single facts about a database, each a document under a name of its own. */
export const marks: CollectionPlan = { name: "marks", indexes: [] };

export interface Mark {
  readonly _id: string;
  /** A text that is set once and stays. */
  readonly text?: string;
  /** A number that only goes up. */
  readonly number?: number;
}

export function marksOf(db: Db): Collection<Mark> {
  return db.collection<Mark>(marks.name);
}

/** The text under this name; undefined where nobody has set it. */
export async function textOf(db: Db, name: string): Promise<string | undefined> {
  return (await marksOf(db).findOne({ _id: name }))?.text;
}

/** Sets the text under this name unless somebody has; hands out the one that is there then, the same to all who call at once. */
export async function textOnce(db: Db, name: string, text: string): Promise<string> {
  try {
    await marksOf(db).insertOne({ _id: name, text });
    return text;
  } catch (error) {
    const kept = isDuplicate(error) ? await textOf(db, name) : undefined;
    if (kept === undefined) throw error;
    return kept;
  }
}

/** The number under this name, 0 at first. */
export async function numberOf(db: Db, name: string): Promise<number> {
  return (await marksOf(db).findOne({ _id: name }))?.number ?? 0;
}

/** Brings the number under this name to at least `number`. Safe to repeat. */
export function raiseTo(db: Db, name: string, number: number): Promise<void> {
  return change(db, name, { $max: { number } });
}

/** Adds one to the number under this name. */
export function raiseByOne(db: Db, name: string): Promise<void> {
  return change(db, name, { $inc: { number: 1 } });
}

/** Of two who make the document at the same moment one is refused; then it is there, and the second try changes it. */
async function change(db: Db, name: string, update: { $max: { number: number } } | { $inc: { number: number } }) {
  const once = () => marksOf(db).updateOne({ _id: name }, update, { upsert: true });
  await once().catch((error: unknown) => {
    if (!isDuplicate(error)) throw error;
    return once();
  });
}
