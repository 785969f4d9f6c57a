import { createHmac } from "node:crypto";
import { StartError } from "../errors.js";

const BASE64 = "base64:";

/** Returns the bytes of the setting PEPPER: its text, or the decoded `base64:…`. */
export function pepperBytes(setting: string): Uint8Array {
  if (!setting.startsWith(BASE64)) return Buffer.from(setting, "utf8");
  const bytes = Buffer.from(setting.slice(BASE64.length), "base64");
  if (bytes.length < 32) throw new StartError("PEPPER is wrong: it is too short. Allowed: at least 32 bytes");
  return bytes;
}

/** Fact of the ledger: the fingerprint of the pepper that it was created with. */
export const PEPPER_MARK = "pepper";

/** Identifies a pepper. A keyed hash of a fixed text does not reveal the key. */
export function pepperFingerprint(pepper: Uint8Array): string {
  return createHmac("sha256", pepper).update("entity-metrics pepper").digest("hex");
}
