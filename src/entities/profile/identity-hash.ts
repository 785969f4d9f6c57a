import { createHmac, createSecretKey } from "node:crypto";
import type { HashIdentity } from "./identity.js";

/** Returns the hash of identities in a store with this pepper. The length of each part precedes it. */
export function identityHashing(pepper: Uint8Array): HashIdentity {
  const key = createSecretKey(pepper);
  return (table, { field, value }) => {
    const hmac = createHmac("sha256", key);
    for (const part of [table, field, value]) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(part));
      hmac.update(length).update(part);
    }
    return hmac.digest("hex");
  };
}
