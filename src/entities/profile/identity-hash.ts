import { createHmac } from "node:crypto";
import type { HashIdentity } from "./identity.js";

/** Returns the hash of identities in a store with this pepper: an HMAC of the parts, each after its length. */
export function identityHashing(pepper: Uint8Array): HashIdentity {
  return (table, { field, value }) => {
    const hmac = createHmac("sha256", pepper);
    for (const part of [table, field, value]) hmac.update(lengthOf(part)).update(part);
    return hmac.digest("hex");
  };
}

function lengthOf(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(text));
  return length;
}
