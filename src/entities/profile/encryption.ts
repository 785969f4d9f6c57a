import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { EntityId } from "./entity.js";

/** Keys by entity. Once a key is destroyed, no copy of what it encrypts can be decrypted. */
type Keys = ReadonlyMap<EntityId, Uint8Array>;

interface Sealed {
  readonly entity: EntityId;
  readonly sealed: Uint8Array;
}

/**
 * First byte of encrypted data. The output of `encrypt` under the entity's key follows, with the entity's id as
 * context.
 */
const VERSION = 1;
const KEY_BYTES = 32;

/** Returns a random key for each of these ids. */
export function newKeys(ids: readonly EntityId[]): Keys {
  const random = randomBytes(KEY_BYTES * ids.length);
  return new Map(ids.map((id, n) => [id, random.subarray(n * KEY_BYTES, (n + 1) * KEY_BYTES)]));
}

/** Encrypts each item under the key of its entity, in order. Throws when an entity has no key. */
export function seal(
  keys: Keys,
  items: readonly { readonly entity: EntityId; readonly plain: Uint8Array }[],
): Uint8Array[] {
  const nonces = randomBytes(NONCE_BYTES * items.length);
  return items.map(({ entity, plain }, index) => {
    const key = keys.get(entity);
    if (key === undefined) throw new Error("An entity has no key to seal under");
    const nonce = nonces.subarray(index * NONCE_BYTES, (index + 1) * NONCE_BYTES);
    return encrypt(key, plain, nonce, entity, Uint8Array.of(VERSION));
  });
}

/** Decrypts the item; undefined when the key of its entity is gone. Throws when bytes were altered. */
export function unseal(keys: Keys, { entity, sealed }: Sealed): Uint8Array | undefined {
  const key = keys.get(entity);
  if (key === undefined) return undefined;
  if (sealed[0] !== VERSION) throw new Error("Sealed bytes have an unknown version");
  return decrypt(key, sealed.subarray(1), entity);
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Returns `prefix`, the nonce, the AES-256-GCM ciphertext and its tag. `context` is authenticated with them. */
export function encrypt(
  key: Uint8Array,
  plain: Uint8Array,
  nonce: Uint8Array = randomBytes(NONCE_BYTES),
  context = "",
  prefix: Uint8Array = new Uint8Array(),
): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  return Buffer.concat([prefix, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the output of `encrypt`. Throws when the bytes or the context differ. */
export function decrypt(key: Uint8Array, encrypted: Uint8Array, context = ""): Buffer {
  const end = encrypted.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, encrypted.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context)).setAuthTag(encrypted.subarray(end));
  const plain = decipher.update(encrypted.subarray(NONCE_BYTES, end));
  // Checks the tag; GCM has no last block.
  decipher.final();
  return plain;
}
