import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { EntityKeys } from "../ports.js";
import type { EntityId } from "./entity.js";

/** Encrypts personal data under the key of its entity. Once the key is destroyed, no copy can be decrypted. */
export interface Sealing {
  /** Encrypts each item, in order. Rejects when an entity has no key: it never existed or was destroyed. */
  seal(items: readonly { readonly entity: EntityId; readonly plain: Uint8Array }[]): Promise<Uint8Array[]>;
  /** Decrypts each item, in order; undefined where the key is gone. Rejects when bytes were altered. */
  open(
    items: readonly { readonly entity: EntityId; readonly sealed: Uint8Array }[],
  ): Promise<(Uint8Array | undefined)[]>;
}

/**
 * First byte of encrypted data. The output of `encrypt` under the entity's key follows, with the entity's id as
 * context.
 */
const VERSION = 1;
const KEY_BYTES = 32;

/** Encrypts with the keys of this store. */
export function sealing(keys: Pick<EntityKeys, "read">): Sealing {
  return {
    async seal(items) {
      const found = await keys.read([...new Set(items.map(({ entity }) => entity))]);
      const nonces = randomBytes(NONCE_BYTES * items.length);
      return items.map(({ entity, plain }, index) => {
        const key = found.get(entity);
        if (key === undefined) throw new Error("An entity has no key to seal under");
        const nonce = nonces.subarray(index * NONCE_BYTES, (index + 1) * NONCE_BYTES);
        return Buffer.concat([Uint8Array.of(VERSION), encrypt(key, plain, nonce, entity)]);
      });
    },

    async open(items) {
      const found = await keys.read([...new Set(items.map(({ entity }) => entity))]);
      return items.map(({ entity, sealed }) => {
        const key = found.get(entity);
        return key === undefined ? undefined : openOne(key, entity, sealed);
      });
    },
  };
}

/** Encryption for one batch or read: reads each key once, and creates keys of new entities before they are stored. */
export interface BatchSealing extends Sealing {
  /** Starts to read the keys of these ids. A failure is reported by the next call. */
  expect(ids: readonly EntityId[]): void;
  /** Creates a random key for each of these ids, which have none yet. */
  newKeys(ids: readonly EntityId[]): ReadonlyMap<EntityId, Uint8Array>;
}

export function batchSealing(keys: Pick<EntityKeys, "read">): BatchSealing {
  const known = new Map<EntityId, Uint8Array>();
  let expected: Promise<unknown> = Promise.resolve();
  const learn = async (ids: readonly EntityId[]) => {
    for (const [id, key] of await keys.read(ids)) known.set(id, key);
  };
  const remembering: Pick<EntityKeys, "read"> = {
    async read(ids) {
      await expected;
      const unknown = ids.filter((id) => !known.has(id));
      if (unknown.length > 0) await learn(unknown);
      return known;
    },
  };
  return {
    ...sealing(remembering),
    expect(ids) {
      expected = Promise.all([expected, learn(ids)]);
      expected.catch(() => {});
    },
    newKeys(ids) {
      const random = randomBytes(KEY_BYTES * ids.length);
      const made = new Map(ids.map((id, n) => [id, random.subarray(n * KEY_BYTES, (n + 1) * KEY_BYTES)]));
      for (const [id, key] of made) known.set(id, key);
      return made;
    },
  };
}

function openOne(key: Uint8Array, entity: EntityId, sealed: Uint8Array): Uint8Array {
  if (sealed[0] !== VERSION) throw new Error("Sealed bytes have an unknown version");
  return decrypt(key, sealed.subarray(1), entity);
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Returns the nonce, the AES-256-GCM ciphertext and its tag. `context` is authenticated with them. */
export function encrypt(
  key: Uint8Array,
  plain: Uint8Array,
  nonce: Uint8Array = randomBytes(NONCE_BYTES),
  context = "",
): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the output of `encrypt`. Throws when the bytes or the context differ. */
export function decrypt(key: Uint8Array, encrypted: Uint8Array, context = ""): Buffer {
  const end = encrypted.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, encrypted.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(encrypted.subarray(end));
  return Buffer.concat([decipher.update(encrypted.subarray(NONCE_BYTES, end)), decipher.final()]);
}
