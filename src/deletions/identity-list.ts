import { randomBytes } from "node:crypto";
import { decrypt, encrypt } from "../entities/profile/encryption.js";
import { type Identity, identityKey } from "../entities/profile/identity.js";
import type { Deletion, EncryptedIdentities } from "./deletion.js";
import type { DeletionSubject } from "./ports.js";

const KEY_BYTES = 32;

/** Data of a request's person that only its remote targets get. */
type Secrets = Pick<DeletionSubject, "identities" | "left">;

/** Encrypts a request's identities for its remote targets, without duplicates, under a new key. */
export function encryptIdentities(
  requestId: string,
  identities: readonly Identity[],
  left: Secrets["left"] = {},
): EncryptedIdentities {
  const key = randomBytes(KEY_BYTES);
  const eachOnce = new Map(identities.map((identity) => [identityKey(identity), identity])).values();
  const secrets: Encoded = { identities: Array.from(eachOnce, ({ field, value }) => [field, value]), left };
  return { key, bytes: encrypt(key, Buffer.from(JSON.stringify(secrets)), undefined, requestId) };
}

interface Encoded {
  readonly identities: readonly (readonly [field: string, value: string])[];
  readonly left: Secrets["left"];
}

/** Decrypts a request's identities; returns none once their key is overwritten. */
export function decryptIdentities({
  requestId,
  encryptedIdentities,
}: Pick<Deletion, "requestId" | "encryptedIdentities">): Secrets {
  if (encryptedIdentities === undefined) return { identities: [], left: {} };
  const plain = decrypt(encryptedIdentities.key, encryptedIdentities.bytes, requestId);
  const stored = JSON.parse(plain.toString()) as Encoded | Encoded["identities"];
  // Requests of version 1.0.0 have the identities alone.
  const { identities, left } = "left" in stored ? stored : { identities: stored, left: {} };
  return { identities: identities.map(([field, value]) => ({ field, value })), left };
}
