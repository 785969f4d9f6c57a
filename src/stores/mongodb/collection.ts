import { randomInt } from "node:crypto";
import {
  type ClientSession,
  type Db,
  type Filter,
  type IndexDescription,
  type MongoClient,
  MongoNetworkTimeoutError,
  MongoServerError,
  type ReadConcern,
} from "mongodb";
import { retry } from "../../async/retry.js";
import { StartError } from "../../errors.js";
import { mongoServiceError } from "./errors.js";

/** A required collection: created at start, and checked at each start. */
export interface CollectionPlan {
  readonly name: string;
  /** Besides the index on `_id`. */
  readonly indexes: readonly (IndexDescription & { readonly key: Readonly<Record<string, number>> })[];
}

/** The transaction of an operation, or the read concern of one without; the defaults if absent. */
export interface InSession {
  readonly session?: ClientSession;
  readonly readConcern?: ReadConcern;
}

/** Filter for documents of these ids. */
export function byIds<D extends { readonly _id: string }>(ids: readonly string[]): Filter<D> {
  return { _id: { $in: [...ids] } } as unknown as Filter<D>;
}

/**
 * Returns a random one of 16 million revisions after this one. A revision that was read may be lost with its primary; a
 * later writer must not store the same one, or a commit planned with the lost revision would succeed.
 */
export function revisionAfter(revision: number): number {
  return revision + randomInt(1, 2 ** 24);
}

/** Creates the missing collections and indexes and checks the existing ones. Safe to repeat and to run concurrently. */
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

async function makeIndexes(db: Db, name: string, indexes: CollectionPlan["indexes"]): Promise<void> {
  if (indexes.length === 0) return;
  // Indexing a large collection takes longer than the time limit; the server continues, and the next attempt waits for
  // the same index.
  const pauseAfter = (error: unknown, attempt: number) =>
    error instanceof MongoNetworkTimeoutError && attempt < TRIES ? 0 : undefined;
  try {
    await retry(() => db.collection(name).createIndexes([...indexes]), pauseAfter);
  } catch (error) {
    throw indexError(db, name, indexes, error);
  }
}

/** Each attempt lasts at most the time limit of a response. */
const TRIES = 500;

/** Names an index that the server refuses in the error; other errors are unchanged. */
function indexError(db: Db, name: string, indexes: CollectionPlan["indexes"], error: unknown): unknown {
  if (!(error instanceof MongoServerError) || error.code === UNAUTHORIZED || mongoServiceError(error) !== undefined)
    return error;
  const needed = indexes.map(({ key, unique }) => `${unique === true ? "unique " : ""}${JSON.stringify(key)}`);
  return new StartError(
    `The indexes of ${db.databaseName}.${name} cannot be created (${needed.join(", ")}): documents conflict with one, or an index of these fields has other options; drop that index`,
    { cause: error },
  );
}

/** Metadata of a sharded collection. */
export interface ShardedCollection {
  /** `database.collection`. */
  readonly _id: string;
  readonly key?: Readonly<Record<string, unknown>>;
  /** Set if a dropped collection is still listed. */
  readonly dropped?: boolean;
  /** Set if the cluster tracks a collection that is on one shard. */
  readonly unsplittable?: boolean;
}

/** Refuses a cluster whose shard keys permit duplicates of an `_id` or of a deletion's number. */
export async function checkCluster(
  client: MongoClient,
  data: { readonly name: string; readonly plans: readonly CollectionPlan[] },
  ledger: string,
): Promise<void> {
  const { msg } = await client.db("admin").command({ hello: 1 });
  if (msg !== "isdbgrid") return;
  const collections = client.db("config").collection<ShardedCollection>("collections");
  const sharded = await collections.find().toArray().catch(notAllowed);
  const error = shardingError(sharded, data, ledger);
  if (error !== undefined) throw new StartError(error);
}

const UNAUTHORIZED = 13;

function notAllowed(error: unknown): never {
  if (!(error instanceof MongoServerError) || error.code !== UNAUTHORIZED) throw error;
  throw new StartError("ENTITIES_URL: on a sharded cluster its user must be allowed to read config.collections");
}

/**
 * Returns the error in the sharding of collections, or undefined. A cluster enforces a unique `_id` only if it is the
 * shard key, and a unique index only if it begins with the shard key.
 */
export function shardingError(
  sharded: readonly ShardedCollection[],
  data: { readonly name: string; readonly plans: readonly CollectionPlan[] },
  ledger: string,
): string | undefined {
  const split = sharded.filter(({ dropped, unsplittable }) => !dropped && !unsplittable);
  const ofLedger = split.find(({ _id }) => _id.startsWith(`${ledger}.`));
  if (ofLedger !== undefined) return `${ofLedger._id} is sharded: the database of the ledger must be on one shard`;
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
