import { createHash, randomBytes } from "node:crypto";
import type { ApiKey, Scope } from "./api-key.js";

/** Makes a new key: the text to show once (a secret of 160 random bits), and what is kept of it. `now` is Unix ms. */
export function mintKey(name: string, scopes: readonly Scope[], now: number): { key: string; kept: ApiKey } {
  const id = randomBytes(6).toString("hex");
  const key = `em_${id}_${randomBytes(20).toString("hex")}`;
  const kept = { id, name, scopes: [...scopes], digest: digestOf(key).toString("hex"), createdAt: now };
  return { key, kept: { ...kept, revokedAt: undefined } };
}

/** SHA-256 of a key as presented. */
export function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
