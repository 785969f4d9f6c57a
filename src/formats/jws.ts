import { createHash, createPublicKey, type KeyObject, sign } from "node:crypto";

/** A public key of Ed25519 (RFC 8037), named by its thumbprint (RFC 7638). */
export interface PublicKey {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  readonly kid: string;
  readonly alg: "EdDSA";
  readonly use: "sig";
}

const KIND = { kty: "OKP", crv: "Ed25519" } as const;

/** The public half of a private key. */
export function publicKeyOf(privateKey: KeyObject): PublicKey {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  // Members in the order that RFC 7638 requires.
  const thumbprint = JSON.stringify({ crv: KIND.crv, kty: KIND.kty, x });
  const kid = createHash("sha256").update(thumbprint).digest("base64url");
  return { ...KIND, x, kid, alg: "EdDSA", use: "sig" };
}

/**
 * Returns the signed payload: a JWS in its compact form (RFC 7515). The same payload and key result in the same text.
 */
export function signJws(payload: object, privateKey: KeyObject): string {
  const header = { alg: "EdDSA", kid: publicKeyOf(privateKey).kid };
  const signed = `${encoded(JSON.stringify(header))}.${encoded(JSON.stringify(payload))}`;
  return `${signed}.${encoded(sign(null, Buffer.from(signed), privateKey))}`;
}

function encoded(data: string | Uint8Array): string {
  return Buffer.from(data as Uint8Array).toString("base64url");
}
