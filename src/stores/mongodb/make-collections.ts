import {
  type Db,
  type IndexDescription,
  type IndexDescriptionInfo,
  MongoNetworkTimeoutError,
  MongoServerError,
} from "mongodb";
import { StartError } from "../../errors.js";
import type { CollectionPlan } from "./collection.js";
import { mongoFailure } from "./failure.js";

/** Makes the collections and indexes that are missing, and looks whether those that are there are what is needed. Safe to repeat, and for several at once. */
export async function makeCollections(db: Db, plans: readonly CollectionPlan[]): Promise<void> {
  const there = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const indexesOf = new Map<string, IndexDescription[]>();
  for (const { name, indexes } of plans) indexesOf.set(name, [...(indexesOf.get(name) ?? []), ...indexes]);
  for (const [name, indexes] of indexesOf) {
    if (!there.has(name)) await makeCollection(db, name);
    await makeIndexes(db, name, indexes);
  }
}

const NAMESPACE_EXISTS = 48;

async function makeCollection(db: Db, name: string): Promise<void> {
  await db.createCollection(name).catch((error: unknown) => {
    if (!(error instanceof MongoServerError) || error.code !== NAMESPACE_EXISTS) throw error;
  });
}

async function makeIndexes(db: Db, name: string, needed: readonly IndexDescription[]): Promise<void> {
  if (needed.length === 0) return;
  for (let tries = 1; ; tries += 1) {
    const there = await db.collection(name).indexes();
    const missing = needed.filter((index) => !isThere(db, name, index, there));
    if (missing.length === 0) return;
    try {
      await db.collection(name).createIndexes(missing);
    } catch (error) {
      // A large collection takes longer than an answer may; the server goes on, and the next try waits for the same index.
      if (error instanceof MongoNetworkTimeoutError && tries < TRIES) continue;
      throw indexFailure(db, name, missing, error);
    }
  }
}

/** Each lasts as long as an answer may. */
const TRIES = 500;

/** Whether an index of this key is there; throws when it is, and is not what is needed. */
function isThere(db: Db, name: string, needed: IndexDescription, there: readonly IndexDescriptionInfo[]): boolean {
  const key = JSON.stringify(fieldsOf(needed));
  const found = there.find((index) => JSON.stringify(fieldsOf(index)) === key);
  if (found === undefined) return false;
  const partial = found.partialFilterExpression !== undefined || found.sparse === true;
  if ((found.unique === true) === (needed.unique === true) && !partial) return true;
  const word = needed.unique === true ? "unique" : "not unique";
  throw new StartError(
    `The index ${found.name} of ${db.databaseName}.${name} must be ${word} and over all documents: drop it, and it is made again`,
  );
}

function fieldsOf({ key }: { readonly key: IndexDescription["key"] }): [string, unknown][] {
  return key instanceof Map ? [...key] : Object.entries(key);
}

/** What the server refuses is told with the index; what passes is told as it is. */
function indexFailure(db: Db, name: string, missing: readonly IndexDescription[], error: unknown): unknown {
  if (!(error instanceof MongoServerError) || error.code === UNAUTHORIZED || mongoFailure(error) !== undefined)
    return error;
  const keys = missing.map((index) => JSON.stringify(Object.fromEntries(fieldsOf(index)))).join(", ");
  return new StartError(
    `An index of ${db.databaseName}.${name} cannot be made (${keys}): documents or other indexes stand in its way`,
    { cause: error },
  );
}

const UNAUTHORIZED = 13;
