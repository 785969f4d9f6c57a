import type { Db } from "mongodb";
import type { ApiKey, Scope } from "../../keys/api-key.js";
import type { KeyStore } from "../../keys/key-store.js";
import { type CollectionPlan, isDuplicate } from "./collection.js";
import { textOf, textOnce } from "./marks.js";

const apiKeys: CollectionPlan = { name: "api_keys", indexes: [] };

export const keyStoreCollections: readonly CollectionPlan[] = [apiKeys];

export interface KeyDocument {
  readonly _id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly digest: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

/** API keys in the database of the ledger, where no restored data can revive one; any process may add and revoke there at any time. */
export function mongoKeyStore(db: Db): KeyStore {
  const keys = db.collection<KeyDocument>(apiKeys.name);

  return {
    async add({ id, name, scopes, digest, createdAt, revokedAt }) {
      await keys.insertOne({ _id: id, name, scopes, digest, createdAt, revokedAt: revokedAt ?? null });
    },

    async find(id) {
      const found = await keys.findOne({ _id: id });
      return found === null ? undefined : keyOf(found);
    },

    async list() {
      const all = (await keys.find().toArray()).map(keyOf);
      return all.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },

    async revoke(id, at) {
      const { matchedCount } = await keys.updateOne({ _id: id, revokedAt: null }, { $set: { revokedAt: at } });
      return matchedCount > 0 || (await keys.findOne({ _id: id })) !== null;
    },
  };
}

/** In the ledger's database: the keys are there. */
const MOVED = "API keys";

/**
 * Earlier versions kept the keys in the database of the profiles: copies them from there, once. Several processes may do so at
 * once; a key that is in the ledger already stays as it is.
 */
export async function copyOldKeys(data: Db, ledger: Db): Promise<void> {
  if ((await textOf(ledger, MOVED)) !== undefined) return;
  const keys = ledger.collection<KeyDocument>(apiKeys.name);
  for await (const key of data.collection<KeyDocument>(apiKeys.name).find()) {
    await keys.insertOne(key).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
    });
  }
  await textOnce(ledger, MOVED, "moved");
}

export function keyOf({ _id, name, scopes, digest, createdAt, revokedAt }: KeyDocument): ApiKey {
  return { id: _id, name, scopes, digest, createdAt, revokedAt: revokedAt ?? undefined };
}
