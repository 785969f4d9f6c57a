import type { ClientSession, Collection, Db } from "mongodb";
import { eachPage } from "../../../async/pages.js";
import { ERASED } from "../../../deletions/ports.js";
import { ACCEPTED, FORGOTTEN } from "../../database-facts.js";
import { byIds, type CollectionPlan, type InSession } from "../collection.js";
import type { StoreDependencies } from "../connection.js";
import { numberIn, raiseTo } from "../database-facts.js";
import { deletionsOf } from "./ledger-document.js";

/**
 * In the data: requests that were accepted and have no number yet, so that the next start refuses a ledger without
 * them.
 */
export const notes: CollectionPlan = { name: "accepted_deletions", indexes: [] };

export function notesOf(data: Db): Collection<{ readonly _id: string }> {
  return data.collection<{ _id: string }>(notes.name);
}

/** Requests numbered by one transaction. */
const REQUESTS_PER_TRANSACTION = 100;

/**
 * Numbers the accepted requests that have no number. Only committed requests get one, so numbers are gapless, and a
 * request that is seen later has a greater one. Processes that do this concurrently write the same fact in the data, so
 * one of them repeats its transaction.
 */
export async function numberDeletions(dependencies: StoreDependencies): Promise<void> {
  const { transact } = dependencies;
  while ((await transact((session) => numberSome(dependencies, session))) === REQUESTS_PER_TRANSACTION);
}

async function numberSome({ data, ledger }: StoreDependencies, session: ClientSession): Promise<number> {
  const deletions = deletionsOf(ledger);
  const inOrder = { sort: { sequence: 1 }, limit: REQUESTS_PER_TRANSACTION, projection: { _id: 1 } } as const;
  const fresh = (await deletions.find({ number: null }, { ...inOrder, session }).toArray()).map(({ _id }) => _id);
  if (fresh.length === 0) return 0;
  const newest = await newestNumber(ledger, { session });
  const numbered = fresh.map((_id, index) => ({
    updateOne: { filter: { _id }, update: { $set: { number: newest + index + 1 } } },
  }));
  await deletions.bulkWrite(numbered, { session });
  await raiseTo(data, ACCEPTED, newest + fresh.length, { session });
  await notesOf(data).deleteMany(byIds(fresh), { session });
  return fresh.length;
}

/** Returns the newest number of a request, present or removed; 0 at first. */
export async function newestNumber(ledger: Db, inside: InSession = {}): Promise<number> {
  const newestFirst = { sort: { number: -1 }, projection: { number: 1 } } as const;
  const newest = await deletionsOf(ledger).findOne({}, { ...newestFirst, ...inside });
  return Math.max(newest?.number ?? 0, await numberIn(ledger, FORGOTTEN, inside));
}

/**
 * Returns whether the ledger has, or had, every request that the data has a note of. A ledger with a greater number
 * than the data is newer, so it has forgotten the requests that it lacks. Removes the notes of these and of numbered
 * requests: they come from a backup of the data.
 */
export async function hasNoted(ledger: Db, data: Db): Promise<boolean> {
  const notesAfter = async (last = "", limit: number) => {
    const notes = await notesOf(data)
      .find({ _id: { $gt: last } }, { sort: { _id: 1 }, limit })
      .toArray();
    return notes.map(({ _id }) => _id);
  };
  // Without a worker the number of notes grows with every acceptance.
  for await (const noted of eachPage<string>(notesAfter)) {
    const found = await deletionsOf(ledger)
      .find(byIds(noted), { projection: { number: 1 } })
      .toArray();
    const isMissing = found.length < noted.length;
    // After its restore the data has erased newer requests than it has accepted.
    const newest = Math.max(await numberIn(data, ACCEPTED), await numberIn(data, ERASED));
    if (isMissing && (await newestNumber(ledger)) <= newest) return false;
    const fresh = new Set(found.filter(({ number }) => number === null).map(({ _id }) => _id));
    await notesOf(data).deleteMany(byIds(noted.filter((id) => !fresh.has(id))));
  }
  return true;
}
