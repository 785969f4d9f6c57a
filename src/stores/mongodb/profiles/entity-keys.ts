import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { Binary, type ClientSession, type Collection, type Db } from "mongodb";
import { groupedErasure, groupedReads } from "../../../async/grouped-calls.js";
import type { EntityKeys } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import { byIds, type CollectionPlan } from "../collection.js";
import { isOfOneCall } from "../errors.js";

const entityKeys: CollectionPlan = { name: "entity_keys", indexes: [] };

export const entityKeysCollections: readonly CollectionPlan[] = [entityKeys];

export interface EntityKeyDocument {
  readonly _id: EntityId;
  /** The wrapped key; zeros once destroyed. */
  readonly key: Binary;
}

export function entityKeysOf(db: Db): Collection<EntityKeyDocument> {
  return db.collection<EntityKeyDocument>(entityKeys.name);
}

/** Stores keys of new ids. */
export async function addKeys(
  ledger: Db,
  wrapping: KeyWrapping,
  keys: ReadonlyMap<EntityId, Uint8Array>,
  session: ClientSession,
): Promise<void> {
  if (keys.size === 0) return;
  const documents = Array.from(keys, ([_id, key]) => ({ _id, key: new Binary(wrapping.wrap(key)) }));
  await entityKeysOf(ledger).insertMany(documents, { session });
}

/** Concurrent requests share their calls. */
const CALLS = { most: 1_000, atOnce: 2, isOfOneCall };

/**
 * Keys of entities in the database of the ledger. Overwritten values survive in journal, oplog, replicas and backups,
 * so a key is stored wrapped (RFC 3394) under one derived from the pepper, which the server never receives.
 */
export function mongoEntityKeys(db: Db, wrapping: KeyWrapping, failpoint: Failpoint = noFailpoint): EntityKeys {
  const keys = entityKeysOf(db);

  const overwritten = groupedErasure({
    async erase(ids) {
      await keys.updateMany(byIds(ids), { $set: { key: destroyedKey() } });
    },
    held: async (ids) => (await stored(keys, ids)).filter(isLiving).map(({ _id }) => _id),
  });

  return {
    read: groupedReads(async (ids) => {
      const found = (await stored(keys, ids)).filter(isLiving);
      return new Map(found.map(({ _id, key }) => [_id, wrapping.unwrap(key.value())]));
    }, CALLS),

    async destroy(ids) {
      await overwritten.erase(ids);
      failpoint("keys-overwritten");
      if (await overwritten.holds(ids)) throw new Error("A key was not overwritten");
    },

    async destroyed(ids) {
      const found = await stored(keys, ids);
      return new Set(found.filter((document) => !isLiving(document)).map(({ _id }) => _id));
    },

    async list(after, limit) {
      const page = keys.find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit, batchSize: limit + 1 });
      return (await page.toArray()).map((document) => ({ id: document._id, isDestroyed: !isLiving(document) }));
    },
  };
}

const WRAPPED_BYTES = 40;

async function stored(keys: Collection<EntityKeyDocument>, ids: readonly EntityId[]): Promise<EntityKeyDocument[]> {
  return ids.length === 0 ? [] : keys.find(byIds(ids), { batchSize: ids.length + 1 }).toArray();
}

/** Replaces a destroyed key. */
export const destroyedKey = () => new Binary(new Uint8Array(WRAPPED_BYTES));

/** Returns whether a key was not destroyed. */
export function isLiving({ key }: { readonly key: Binary }): boolean {
  return key.value().some((byte) => byte !== 0);
}

/** Initial value of RFC 3394; unwrapping checks it. */
const INITIAL_VALUE = Buffer.alloc(8, 0xa6);
const CIPHER = "id-aes256-wrap";

/** Wraps keys under one derived from the pepper. */
export interface KeyWrapping {
  wrap(key: Uint8Array): Buffer;
  unwrap(wrapped: Uint8Array): Uint8Array;
}

export function keyWrapping(pepper: Uint8Array): KeyWrapping {
  const wrappingKey = Buffer.from(hkdfSync("sha256", pepper, new Uint8Array(), "entity-metrics entity keys", 32));
  return {
    wrap(key) {
      const cipher = createCipheriv(CIPHER, wrappingKey, INITIAL_VALUE);
      return Buffer.concat([cipher.update(key), cipher.final()]);
    },
    unwrap(wrapped) {
      const decipher = createDecipheriv(CIPHER, wrappingKey, INITIAL_VALUE);
      return new Uint8Array(Buffer.concat([decipher.update(wrapped), decipher.final()]));
    },
  };
}
