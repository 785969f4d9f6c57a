import { randomInt } from "node:crypto";
import {
  type ClientSession,
  type Db,
  type Filter,
  type IndexDescription,
  type IndexDescriptionInfo,
  type MongoClient,
  MongoNetworkTimeoutError,
  MongoServerError,
} from "mongodb";
import { StartError } from "../../errors.js";
import { mongoServiceError } from "./errors.js";

/** A collection as this service needs it: made at start, and looked at again each time. */
export interface CollectionPlan {
  readonly name: string;
  /** Besides that of `_id`. */
  readonly indexes: readonly (IndexDescription & { readonly key: Readonly<Record<string, number>> })[];
}

/** The transaction that an operation is a part of; none: it stands alone. */
export interface InSession {
  readonly session?: ClientSession;
}

/** Filter for documents of these ids. */
export function byIds<D extends { readonly _id: string }>(ids: readonly string[]): Filter<D> {
  return { _id: { $in: [...ids] } } as unknown as Filter<D>;
}

/**
 * The revision after this one: any of 16 million numbers. What is read for a plan may be lost with its primary. The number that it had must not be
 * that of what another writer keeps since, which the commit of that plan would take for what it was made from.
 */
export function revisionAfter(revision: number): number {
  return revision + randomInt(1, 2 ** 24);
}

/** Makes the collections and indexes that are missing, and checks that the existing ones are what is needed. Safe to repeat, and for several at once. */
export async function makeCollections(db: Db, plans: readonly CollectionPlan[]): Promise<void> {
  const there = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  for (const { name, indexes } of plans) {
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
      throw indexError(db, name, missing, error);
    }
  }
}

/** Each lasts as long as an answer may. */
const TRIES = 500;

/** Whether an index of this key is there; throws when it is, and is not what is needed. */
function isThere(db: Db, name: string, needed: IndexDescription, there: readonly IndexDescriptionInfo[]): boolean {
  const found = there.find((index) => JSON.stringify(index.key) === JSON.stringify(needed.key));
  if (found === undefined) return false;
  const partial = found.partialFilterExpression !== undefined || found.sparse === true;
  if ((found.unique === true) === (needed.unique === true) && !partial) return true;
  const word = needed.unique === true ? "unique" : "not unique";
  throw new StartError(
    `The index ${found.name} of ${db.databaseName}.${name} must be ${word} and over all documents: drop it, and it is made again`,
  );
}

/** An index that the server refuses is named in the error; other errors stay as they are. */
function indexError(db: Db, name: string, missing: readonly IndexDescription[], error: unknown): unknown {
  if (!(error instanceof MongoServerError) || error.code === UNAUTHORIZED || mongoServiceError(error) !== undefined)
    return error;
  const keys = missing.map((index) => JSON.stringify(index.key)).join(", ");
  return new StartError(
    `An index of ${db.databaseName}.${name} cannot be made (${keys}): documents or other indexes stand in its way`,
    { cause: error },
  );
}

/** What is known of a sharded collection. */
export interface ShardedCollection {
  /** `database.collection`. */
  readonly _id: string;
  readonly key?: Readonly<Record<string, unknown>>;
  /** Set where a dropped collection is remembered. */
  readonly dropped?: boolean;
  /** Set where the cluster keeps track of a collection that is on one shard. */
  readonly unsplittable?: boolean;
}

/** Refuses a cluster whose shard keys would let two documents have one `_id`, or one number of a deletion. */
export async function checkCluster(
  client: MongoClient,
  data: { readonly name: string; readonly plans: readonly CollectionPlan[] },
  ledger: string,
): Promise<void> {
  const { msg } = await client.db("admin").command({ hello: 1 });
  if (msg !== "isdbgrid") return;
  const ours = new RegExp(`^(${[data.name, ledger].map(literally).join("|")})\\.`);
  const collections = client.db("config").collection<ShardedCollection>("collections");
  const sharded = await collections.find({ _id: ours }).toArray().catch(notAllowed);
  const error = shardingError(sharded, data, ledger);
  if (error !== undefined) throw new StartError(error);
}

const UNAUTHORIZED = 13;

function notAllowed(error: unknown): never {
  if (!(error instanceof MongoServerError) || error.code !== UNAUTHORIZED) throw error;
  throw new StartError("ENTITIES_URL: on a sharded cluster its user must be allowed to read config.collections");
}

/**
 * What is wrong with the way that collections are sharded; undefined when nothing is. A cluster keeps an `_id` unique only
 * where it is the shard key, and a unique index only where it begins with it.
 */
export function shardingError(
  sharded: readonly ShardedCollection[],
  data: { readonly name: string; readonly plans: readonly CollectionPlan[] },
  ledger: string,
): string | undefined {
  const split = sharded.filter(({ dropped, unsplittable }) => !dropped && !unsplittable);
  const ofLedger = split.find(({ _id }) => _id.startsWith(`${ledger}.`));
  if (ofLedger !== undefined) return `${ofLedger._id} is sharded: the database of the ledger must stand on one shard`;
  for (const { _id, key } of split) {
    const plan = data.plans.find(({ name }) => _id === `${data.name}.${name}`);
    if (plan === undefined) continue;
    const unique = plan.indexes.find((index) => index.unique === true);
    if (unique !== undefined) return `${_id} is sharded: its unique index needs it on one shard`;
    const by = JSON.stringify(key ?? {});
    if (by !== '{"_id":"hashed"}' && by !== '{"_id":1}')
      return `${_id} is sharded by ${by}: shard it by { "_id": "hashed" } or not at all`;
  }
  return undefined;
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
