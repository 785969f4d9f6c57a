import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type CacheMemory, SharedCache } from "../cache-memory.js";
import type { Clock } from "../clock.js";
import { type ApiKey, type KeyBounds, type KeyStore, keyIdOf, type Scope, scopes } from "./api-key.js";
import { isExpired } from "./bounds.js";

/** The holder of a valid or expired key. */
export interface Caller {
  /** Id of the key; `admin` for the configured one. */
  readonly keyId: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly bounds: KeyBounds;
}

export type VerifyKey = (key: string) => Caller | undefined | Promise<Caller | undefined>;

/** Time that a valid key is cached, ms: a revocation takes effect within this time. */
const BELIEVED_MS = 3000;

const DAY_MS = 86_400_000;

/** Memory of a cached key besides its text, bytes. */
const CALLER_BYTES = 400;

/**
 * Resolves with the holder of a key, also of an expired one; undefined for a key that is unknown, has a wrong secret,
 * or is revoked. Keys are found by id and compared by digest in constant time. `adminKey` is valid with every scope.
 */
export function keyVerifier(store: KeyStore, adminKey: string | null, clock: Clock, memory: CacheMemory): VerifyKey {
  const remembered = new SharedCache<{ caller: Caller; until: number }>(memory);
  const adminDigest = adminKey === null ? undefined : digestOf(adminKey);
  const admin: Caller = { keyId: "admin", name: "admin", scopes: new Set(scopes), bounds: {} };

  async function lookUp(key: string, now: number): Promise<Caller | undefined> {
    const id = keyIdOf(key);
    if (id === undefined) return undefined;
    const digest = digestOf(key);
    const isAdmin = adminDigest !== undefined && timingSafeEqual(digest, adminDigest);
    const stored = isAdmin ? undefined : await store.find(id);
    const caller = isAdmin ? admin : callerOf(stored, digest);
    if (caller !== undefined && stored !== undefined) recordUse(store, stored, now);
    if (caller !== undefined) remembered.set(key, { caller, until: now + BELIEVED_MS }, CALLER_BYTES);
    return caller;
  }

  return (key) => {
    const now = clock();
    const known = remembered.get(key, ({ until }) => now < until && now >= until - BELIEVED_MS);
    return known?.caller ?? lookUp(key, now);
  };
}

/** Stores the day of this use, once a day. No request waits for it or fails with it: the next look-up retries. */
function recordUse(store: KeyStore, { id, bounds, lastUsedOn = Number.NEGATIVE_INFINITY }: ApiKey, now: number): void {
  const day = now - (now % DAY_MS);
  if (lastUsedOn < day && !isExpired(bounds, now)) store.recordUse(id, day).catch(() => {});
}

/** Returns the holder if the digest matches the stored key and the key is not revoked. */
function callerOf(stored: ApiKey | undefined, digest: Buffer): Caller | undefined {
  if (stored === undefined || stored.revokedAt !== undefined) return undefined;
  const expected = Buffer.from(stored.digest, "hex");
  if (expected.length !== digest.length || !timingSafeEqual(digest, expected)) return undefined;
  return { keyId: stored.id, name: stored.name, scopes: new Set(stored.scopes), bounds: stored.bounds };
}

/** Creates a key: its text, to be shown once (a secret of 160 random bits), and its stored form. `now` is Unix ms. */
export function mintKey(
  name: string,
  scopes: readonly Scope[],
  now: number,
  bounds: KeyBounds = {},
): { key: string; stored: ApiKey } {
  const id = randomBytes(6).toString("hex");
  const key = `em_${id}_${randomBytes(20).toString("hex")}`;
  const stored = { id, name, scopes: [...scopes], bounds, digest: digestOf(key).toString("hex"), createdAt: now };
  return { key, stored: { ...stored, revokedAt: undefined, lastUsedOn: undefined } };
}

/** Returns the SHA-256 of a presented key. */
function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
