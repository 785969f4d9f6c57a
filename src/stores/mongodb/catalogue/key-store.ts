import type { Db } from "mongodb";
import { type ApiKey, type KeyStore, MAX_EVENT_NAMES } from "../../../keys/api-key.js";
import type { CollectionPlan } from "../collection.js";

const apiKeys: CollectionPlan = { name: "api_keys", indexes: [] };

export const keyStoreCollections: readonly CollectionPlan[] = [apiKeys];

export interface KeyDocument extends Omit<ApiKey, "id" | "revokedAt" | "lastUsedOn"> {
  readonly _id: string;
  readonly revokedAt: number | null;
  readonly lastUsedOn: number | null;
}

/**
 * API keys in the database of the ledger, so that restored data cannot revive a revoked key. Any process may add and
 * revoke keys at any time.
 */
export function mongoKeyStore(db: Db): KeyStore {
  const keys = db.collection<KeyDocument>(apiKeys.name);

  return {
    async add(key) {
      await keys.insertOne(keyDocument(key));
    },

    async find(id) {
      const found = await keys.findOne({ _id: id });
      return found === null ? undefined : apiKeyOf(found);
    },

    async list() {
      const all = (await keys.find().toArray()).map(apiKeyOf);
      return all.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },

    async revoke(id, at) {
      const { matchedCount } = await keys.updateOne({ _id: id, revokedAt: null }, { $set: { revokedAt: at } });
      return matchedCount > 0 || (await keys.findOne({ _id: id })) !== null;
    },

    async recordUse(id, day) {
      const isEarlier = [{ lastUsedOn: null }, { lastUsedOn: { $lt: day } }];
      await keys.updateOne({ _id: id, $or: isEarlier }, { $set: { lastUsedOn: day } });
    },

    async addEventNames(id, names) {
      const stored = { $ifNull: ["$eventNames", []] };
      const further = { $filter: { input: { $literal: names }, cond: { $not: [{ $in: ["$$this", stored] }] } } };
      const eventNames = { $slice: [{ $concatArrays: [stored, further] }, MAX_EVENT_NAMES] };
      const options = { returnDocument: "after" } as const;
      const key = await keys.findOneAndUpdate({ _id: id }, [{ $set: { eventNames } }], options);
      return key?.eventNames ?? [];
    },

    async hasOrigin(origin, now) {
      const isLasting = [{ "bounds.expiresAt": null }, { "bounds.expiresAt": { $gt: now } }];
      return (await keys.findOne({ "bounds.origins": origin, revokedAt: null, $or: isLasting })) !== null;
    },
  };
}

export function keyDocument({ id, revokedAt, lastUsedOn, ...key }: ApiKey): KeyDocument {
  return { _id: id, ...key, revokedAt: revokedAt ?? null, lastUsedOn: lastUsedOn ?? null };
}

export function apiKeyOf({ _id, revokedAt, lastUsedOn, ...key }: KeyDocument): ApiKey {
  return { id: _id, ...key, revokedAt: revokedAt ?? undefined, lastUsedOn: lastUsedOn ?? undefined };
}
