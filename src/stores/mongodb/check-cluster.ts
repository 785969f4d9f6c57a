import { type MongoClient, MongoServerError } from "mongodb";
import { StartError } from "../../errors.js";
import type { CollectionPlan } from "./collection.js";

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
  const fault = shardingFault(sharded, data, ledger);
  if (fault !== undefined) throw new StartError(fault);
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
export function shardingFault(
  sharded: readonly ShardedCollection[],
  data: { readonly name: string; readonly plans: readonly CollectionPlan[] },
  ledger: string,
): string | undefined {
  const split = sharded.filter(({ dropped, unsplittable }) => !dropped && !unsplittable);
  const ofLedger = split.find(({ _id }) => _id.startsWith(`${ledger}.`));
  if (ofLedger !== undefined) return `${ofLedger._id} is sharded: the database of the ledger must stand on one shard`;
  const ofData = split.map((one) => ({
    ...one,
    plan: data.plans.find(({ name }) => one._id === `${data.name}.${name}`),
  }));
  for (const { _id, key, plan } of ofData) {
    if (plan === undefined) continue;
    const unique = plan.indexes.find((index) => index.unique === true);
    if (unique !== undefined) return `${_id} is sharded: its unique index needs it on one shard`;
    if (!isById(key))
      return `${_id} is sharded by ${JSON.stringify(key ?? {})}: shard it by { "_id": "hashed" } or not at all`;
  }
  return undefined;
}

function isById(key: ShardedCollection["key"]): boolean {
  const fields = Object.entries(key ?? {});
  return (
    fields.length === 1 && fields.every(([field, order]) => field === "_id" && (order === "hashed" || order === 1))
  );
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
