import { randomBytes } from "node:crypto";
import { decrypt, encrypt } from "../entities/profile/encryption.js";
import { type Identity, identityKey } from "../entities/profile/identity.js";
import type { Deletion, EncryptedIdentities } from "./deletion.js";

const KEY_BYTES = 32;

/** Encrypts a request's identities for its remote targets, without duplicates, under a new key. */
export function encryptIdentities(requestId: string, identities: readonly Identity[]): EncryptedIdentities {
  const key = randomBytes(KEY_BYTES);
  const eachOnce = new Map(identities.map((identity) => [identityKey(identity), identity])).values();
  const plain = Buffer.from(JSON.stringify(Array.from(eachOnce, ({ field, value }) => [field, value])));
  return { key, bytes: encrypt(key, plain, undefined, requestId) };
}

/** Decrypts a request's identities; returns none once their key is overwritten. */
export function decryptIdentities({
  requestId,
  encryptedIdentities,
}: Pick<Deletion, "requestId" | "encryptedIdentities">): Identity[] {
  if (encryptedIdentities === undefined) return [];
  const plain = decrypt(encryptedIdentities.key, encryptedIdentities.bytes, requestId);
  return (JSON.parse(plain.toString()) as [string, string][]).map(([field, value]) => ({ field, value }));
}
