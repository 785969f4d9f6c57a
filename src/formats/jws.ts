import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

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

/** Result of checking a JWS: its payload, or why it is not trusted. */
type CheckedJws = { readonly payload: unknown } | { readonly issue: string };

/** Verifies a JWS in its compact form against public keys, such as the keys of a JWKS; ignores keys of another kind. */
export function checkJws(jws: string, keys: readonly unknown[]): CheckedJws {
  const parts = jws.split(".");
  const header = decodedJson(parts[0] ?? "");
  if (parts.length !== 3 || !isObject(header)) return { issue: "it is not a JWS" };
  if (header.alg !== "EdDSA" || header.crit !== undefined) return { issue: "it is not signed with EdDSA alone" };
  const key = keys.find(
    (key): key is PublicKey =>
      isObject(key) && key.kty === KIND.kty && key.crv === KIND.crv && key.kid === header.kid && isText(key.x),
  );
  if (key === undefined) return { issue: "it is signed with a key that is not one of these" };
  const signature = decoded(parts[2] ?? "");
  if (signature === undefined || !isSigned(parts.slice(0, 2).join("."), signature, key.x)) {
    return { issue: "its signature is wrong: it was changed, or was not signed here" };
  }
  const payload = decodedJson(parts[1] ?? "");
  return payload === undefined ? { issue: "it holds no JSON" } : { payload };
}

function isSigned(text: string, signature: Uint8Array, x: string): boolean {
  try {
    return verify(null, Buffer.from(text), createPublicKey({ key: { ...KIND, x }, format: "jwk" }), signature);
  } catch {
    return false;
  }
}

function encoded(data: string | Uint8Array): string {
  return Buffer.from(data as Uint8Array).toString("base64url");
}

/** Decodes base64url; undefined for any text that encoding does not produce. */
function decoded(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return text !== "" && encoded(bytes) === text ? bytes : undefined;
}

function decodedJson(text: string): unknown {
  try {
    return JSON.parse(decoded(text)?.toString("utf8") ?? "");
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
