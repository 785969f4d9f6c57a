import { createPrivateKey, generateKeyPairSync, hkdfSync, type KeyObject } from "node:crypto";
import { decrypt, encrypt } from "../entities/profile/encryption.js";
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
  const wrapping = wrappingKey(pepper);
  const fresh = generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" });
  const kept = await ledger.receiptKey(encrypt(wrapping, fresh).toString("base64"));
  return createPrivateKey({ key: decrypt(wrapping, Buffer.from(kept, "base64")), format: "der", type: "pkcs8" });
}

function wrappingKey(pepper: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", pepper, "", "receipts of deletions", 32));
}
