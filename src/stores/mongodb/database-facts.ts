import type { Collection, Db } from "mongodb";
import type { Facts } from "../../facts.js";
import type { CollectionPlan, InSession } from "./collection.js";
import { isDuplicate } from "./errors.js";

/** Single facts about a database, each a document under its own name. */
export const factCollection: CollectionPlan = { name: "marks", indexes: [] };

interface FactDocument {
  readonly _id: string;
  /** A text that is set once, or replaced as a whole. */
  readonly text?: string;
  /** A number that only increases. */
  readonly number?: number;
}

export function factDocumentsOf(db: Db): Collection<FactDocument> {
  return db.collection<FactDocument>(factCollection.name);
}

/** The facts of a database, read and written without a transaction. */
export function factsOf(db: Db): Facts {
  return {
    text: (name) => textOf(db, name),

    async textOnce(name, text) {
      try {
        await factDocumentsOf(db).insertOne({ _id: name, text });
        return text;
      } catch (error) {
        // A text that a change of primary may roll back does not count: another one could be stored after it.
        const stored = isDuplicate(error) ? await textOf(db, name, "majority") : undefined;
        if (stored === undefined) throw error;
        return stored;
      }
    },

    async replaceText(name, before, text) {
      if (before !== undefined) {
        return (await factDocumentsOf(db).updateOne({ _id: name, text: before }, { $set: { text } })).matchedCount > 0;
      }
      try {
        await factDocumentsOf(db).insertOne({ _id: name, text });
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },

    number: (name) => numberIn(db, name),
    raise: (name, number) => raiseTo(db, name, number),
  };
}

async function textOf(db: Db, name: string, readConcern?: "majority"): Promise<string | undefined> {
  return (await factDocumentsOf(db).findOne({ _id: name }, readConcern === undefined ? {} : { readConcern }))?.text;
}

/** Returns the number under this name, 0 at first. */
export async function numberIn(db: Db, name: string, inside: InSession = {}): Promise<number> {
  return (await factDocumentsOf(db).findOne({ _id: name }, inside))?.number ?? 0;
}

/** Raises the number under this name to at least `number`. Safe to repeat. */
export async function raiseTo(db: Db, name: string, number: number, inside: InSession = {}): Promise<void> {
  await factDocumentsOf(db).updateOne({ _id: name }, { $max: { number } }, { upsert: true, ...inside });
}
