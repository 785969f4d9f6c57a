import { hash } from "node:crypto";
import type { HashIdentity } from "./identity.js";

/**
 * Returns the hash of identities in a store with this pepper. Computes HMAC (RFC 2104) by two calls of SHA-256: they
 * take 1.2 µs instead of the 3.0 µs of Node's `Hmac`; a message of collect takes 100 µs in all.
 */
export function identityHashing(pepper: Uint8Array): HashIdentity {
  const inner = paddedKey(pepper, 0x36);
  const outer = Buffer.concat([paddedKey(pepper, 0x5c), Buffer.alloc(SHA256_BYTES)]);
  return (table, { field, value }) => {
    const parts = [table, field, value];
    const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + 4 + 3 * part.length, inner.length));
    let end = inner.copy(bytes);
    for (const part of parts) {
      const length = bytes.write(part, end + 4);
      end = bytes.writeUInt32BE(length, end) + length;
    }
    outer.write(hash("sha256", bytes.subarray(0, end), "binary"), inner.length, "binary");
    return hash("sha256", outer, "hex");
  };
}

const SHA256_BYTES = 32;
const SHA256_BLOCK_BYTES = 64;

/** Returns the key in a block of SHA-256, each byte XOR `pad`. A longer key is hashed first. */
function paddedKey(key: Uint8Array, pad: number): Buffer {
  const short = key.length > SHA256_BLOCK_BYTES ? hash("sha256", key, "buffer") : key;
  const block = Buffer.alloc(SHA256_BLOCK_BYTES, pad);
  short.forEach((byte, index) => {
    block[index] = byte ^ pad;
  });
  return block;
}
