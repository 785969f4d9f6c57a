import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { type PublicKey, publicKeyOf, signJws } from "../formats/jws.js";
import type { Ledger } from "./ports.js";

/** Proofs that deletions are completed. */
export interface Receipts {
  /** A JWS (RFC 7515, compact, EdDSA) over these claims, as JSON, with the name and version of the service. */
  sign(claims: object): Promise<string>;
  publicKey(): Promise<PublicKey>;
}

export interface ReceiptParts {
  readonly ledger: Pick<Ledger, "receiptKey">;
  /** Wraps the private key, which the ledger keeps. */
  readonly pepper: Uint8Array;
  /** Of this package. */
  readonly version: string;
}

/** Signs with the key pair of the ledger, which is made once. */
export function receipts({ ledger, pepper, version }: ReceiptParts): Receipts {
  let known: Promise<KeyObject> | undefined;

  const privateKey = () => {
    known ??= readKey(ledger, pepper).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  return {
    async sign(claims) {
      return signJws({ ...claims, service: "entity-metrics", version }, await privateKey());
    },

    publicKey: async () => publicKeyOf(await privateKey()),
  };
}

/** The key pair that the ledger keeps; when it has none, a new one, unless another process adds one first. */
async function readKey(ledger: ReceiptParts["ledger"], pepper: Uint8Array): Promise<KeyObject> {
  const fresh = generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" });
  const kept = await ledger.receiptKey(wrapped(fresh, pepper));
  return createPrivateKey({ key: unwrapped(kept, pepper), format: "der", type: "pkcs8" });
}

/** A wrapped key is a random nonce, AES-256-GCM ciphertext and its tag, in base64. */
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

function wrapped(key: Buffer, pepper: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, wrappingKey(pepper), nonce);
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]).toString("base64");
}

function unwrapped(text: string, pepper: Uint8Array): Buffer {
  const bytes = Buffer.from(text, "base64");
  const decipher = createDecipheriv(CIPHER, wrappingKey(pepper), bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}

function wrappingKey(pepper: Uint8Array): Buffer {
  return Buffer.from(hkdfSync("sha256", pepper, "", "receipts of deletions", 32));
}
