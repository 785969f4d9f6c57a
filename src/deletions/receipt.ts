import { createPrivateKey, generateKeyPairSync, hkdfSync, type KeyObject } from "node:crypto";
import { decrypt, encrypt } from "../entities/profile/encryption.js";
import { timeText } from "../formats/instant.js";
import { type PublicKey, publicKeyOf, signJws } from "../formats/jws.js";
import type { CompletedDeletion } from "./deletion.js";
import type { Ledger } from "./ports.js";

/** Signs proofs that deletions are completed, and other calls of the webhook. */
export interface Receipts {
  /** Returns a JWS (RFC 7515, compact, EdDSA) over these claims, the service and its version. */
  sign(claims: object): Promise<string>;
  /** Returns a JWS over these claims alone. */
  signOnly(claims: object): Promise<string>;
  publicKey(): Promise<PublicKey>;
}

export interface ReceiptDependencies {
  readonly ledger: Pick<Ledger, "receiptKey">;
  /** Secret that wraps the private key in the ledger. */
  readonly pepper: Uint8Array;
  /** Version of this package. */
  readonly version: string;
}

/** Creates receipts signed with the ledger's key pair, which is generated once. */
export function receipts({ ledger, pepper, version }: ReceiptDependencies): Receipts {
  let known: Promise<KeyObject> | undefined;

  const privateKey = () => {
    known ??= readKey(ledger, pepper).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  return {
    sign: async (claims) => signJws({ ...claims, service: "entity-metrics", version }, await privateKey()),
    signOnly: async (claims) => signJws(claims, await privateKey()),
    publicKey: async () => publicKeyOf(await privateKey()),
  };
}

/** Returns the claims of a receipt: the times of the request, without any identity. */
export function receiptClaims({ requestId, acceptedAt, completedAt, targets, times }: CompletedDeletion) {
  return {
    request_id: requestId,
    accepted_at: timeText(acceptedAt),
    cut_off: timeText(acceptedAt),
    completed_at: timeText(completedAt),
    // A request is completed only after each of its targets was verified.
    targets: targets.map((name) => ({ name, verified_at: timeText(times[name]?.verifiedAt as number) })),
  };
}

/**
 * Returns the key pair stored in the ledger. Stores a new one if there is none; all concurrent processes get the same
 * one.
 */
async function readKey(ledger: ReceiptDependencies["ledger"], pepper: Uint8Array): Promise<KeyObject> {
  const wrapping = wrappingKey(pepper);
  const fresh = generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" });
  const stored = await ledger.receiptKey(encrypt(wrapping, fresh).toString("base64"));
  return createPrivateKey({ key: decrypt(wrapping, Buffer.from(stored, "base64")), format: "der", type: "pkcs8" });
}

function wrappingKey(pepper: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", pepper, "", "receipts of deletions", 32));
}
