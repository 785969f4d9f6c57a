import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { Binary, type Collection, type Db } from "mongodb";
import type { EntityId } from "../../entities/entity.js";
import type { EntityKeys } from "../../entities/entity-keys.js";
import { type Failpoint, noFailpoint } from "../../failpoint.js";
import { type CollectionPlan, duplicatesOf, findByIds, oneOf } from "./collection.js";

const entityKeys: CollectionPlan = { name: "entity_keys", indexes: [] };

export const entityKeysCollections: readonly CollectionPlan[] = [entityKeys];

export interface EntityKeyDocument {
  readonly _id: EntityId;
  /** The key, wrapped; zeros once it was destroyed. */
  readonly key: Binary;
}

export function entityKeysOf(db: Db): Collection<EntityKeyDocument> {
  return db.collection<EntityKeyDocument>(entityKeys.name);
}

/**
 * Keys of entities in the database of the ledger. What an update overwrites there lives on in journal, oplog, replicas and
 * backups, so a key is stored wrapped (RFC 3394) under one that is made from the pepper, which the server never sees.
 */
export function mongoEntityKeys(db: Db, pepper: Uint8Array, failpoint: Failpoint = noFailpoint): EntityKeys {
  const keys = entityKeysOf(db);
  const wrapping = keyWrapping(pepper);

  return {
    async create(ids) {
      if (ids.length === 0) return new Map();
      const made = [...new Set(ids)].map((id) => [id, new Uint8Array(randomBytes(32))] as const);
      const documents = made.map(([_id, key]) => ({ _id, key: new Binary(wrapping.wrap(key)) }));
      const refused = await keys.insertMany(documents, { ordered: false }).then(() => new Set<number>(), duplicatesOf);
      return new Map(made.filter((_, index) => !refused.has(index)));
    },

    async read(ids) {
      const found = await living(keys, ids);
      return new Map(found.map(({ _id, key }) => [_id, wrapping.unwrap(key.value())]));
    },

    async destroy(ids) {
      if (ids.length === 0) return;
      await keys.updateMany({ _id: oneOf(ids) }, { $set: { key: destroyedKey() } });
      failpoint("K15");
      if ((await living(keys, ids)).length > 0) throw new Error("A key was not overwritten");
    },

    async destroyed(ids) {
      const found = await findByIds(keys, [...new Set(ids)]);
      return new Set(found.filter((document) => !isLiving(document)).map(({ _id }) => _id));
    },

    holds: async (ids) => (await living(keys, ids)).length > 0,
  };
}

const WRAPPED_BYTES = 40;

/** Those of these ids that have a key that was not destroyed. */
async function living(keys: Collection<EntityKeyDocument>, ids: readonly EntityId[]): Promise<EntityKeyDocument[]> {
  if (ids.length === 0) return [];
  const found = await findByIds(keys, [...new Set(ids)]);
  return found.filter(isLiving);
}

/** What stands in place of a key that was destroyed. */
export const destroyedKey = () => new Binary(new Uint8Array(WRAPPED_BYTES));

/** Whether a key is there that was not destroyed. */
export function isLiving({ key }: Pick<EntityKeyDocument, "key">): boolean {
  return key.value().some((byte) => byte !== 0);
}

/** The initial value that RFC 3394 names; unwrapping checks it. */
const INITIAL_VALUE = Buffer.alloc(8, 0xa6);
const CIPHER = "id-aes256-wrap";

/** Wraps keys under one that is made from the pepper. */
export function keyWrapping(pepper: Uint8Array) {
  const own = Buffer.from(hkdfSync("sha256", pepper, new Uint8Array(), "entity-metrics entity keys", 32));
  return {
    wrap(key: Uint8Array): Buffer {
      const cipher = createCipheriv(CIPHER, own, INITIAL_VALUE);
      return Buffer.concat([cipher.update(key), cipher.final()]);
    },
    unwrap(wrapped: Uint8Array): Uint8Array {
      const decipher = createDecipheriv(CIPHER, own, INITIAL_VALUE);
      return new Uint8Array(Buffer.concat([decipher.update(wrapped), decipher.final()]));
    },
  };
}
