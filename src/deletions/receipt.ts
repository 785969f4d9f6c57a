import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import type { Deletion } from "./deletion.js";
import type { Ledger } from "./ports.js";

/** A public key as a JSON Web Key (RFC 8037). */
export interface PublicKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly alg: "EdDSA";
  readonly use: "sig";
  readonly kid: string;
  readonly x: string;
}

/** Proofs that deletions are completed. */
export interface Receipts {
  /** The receipt of a completed deletion: a JWS (RFC 7515, compact, EdDSA). It holds no identity. */
  sign(deletion: Deletion): Promise<string>;
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
    async sign(deletion) {
      const key = await privateKey();
      const header = encoded({ alg: "EdDSA", kid: publicKeyOf(key).kid });
      const signed = `${header}.${encoded(claimsOf(deletion, version))}`;
      return `${signed}.${sign(null, Buffer.from(signed), key).toString("base64url")}`;
    },

    publicKey: async () => publicKeyOf(await privateKey()),
  };
}

function claimsOf(
  { requestId, acceptedAt, cutOff, completedAt = Number.NaN, targets, times }: Deletion,
  version: string,
) {
  return {
    request_id: requestId,
    accepted_at: timeText(acceptedAt),
    cut_off: timeText(cutOff),
    completed_at: timeText(completedAt),
    targets: targets.map((name) => {
      const verifiedAt = times[name]?.verifiedAt;
      return { name, verified_at: verifiedAt === undefined ? null : timeText(verifiedAt) };
    }),
    service: "entity-metrics",
    version,
  };
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** The id of a key is its thumbprint (RFC 7638). */
function publicKeyOf(key: KeyObject): PublicKey {
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  const thumbprint = JSON.stringify({ crv: "Ed25519", kty: "OKP", x });
  const kid = createHash("sha256").update(thumbprint).digest("base64url");
  return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig", kid, x };
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

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
