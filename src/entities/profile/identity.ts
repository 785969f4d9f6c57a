import { invalid } from "../../errors.js";
import { emailForm, hasAtMostBytes } from "../../text.js";
import type { IdentityField, NormalForm, Table } from "./entity-tables.js";

/**
 * HMAC-SHA-256(PEPPER, table, field, value), 64 lower-case hex characters: the only form in which identities are stored
 * unencrypted.
 */
export type IdentityHash = string;

/** An identity as written, in its field's normal form. Personal: exists only in memory or encrypted. */
export interface Identity {
  readonly field: string;
  readonly value: string;
}

/** Returns a key that is unique to the identity. */
export function identityKey({ field, value }: Identity): string {
  return `${field}\0${value}`;
}

/** Returns the values of each field, in order. */
export function valuesByField(identities: readonly Identity[]): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const { field, value } of identities) values.set(field, [...(values.get(field) ?? []), value]);
  return values;
}

export type HashIdentity = (table: string, identity: Identity) => IdentityHash;

/** Returns the identity field with this name; undefined when the table has none. */
export function identityField(table: Table, name: string): IdentityField | undefined {
  return table.identities.find((field) => field.name === name);
}

/** Maximum bytes of an identity, as sent and in its normal form. */
export const MAX_IDENTITY_BYTES = 1_024;

/**
 * Parses a value into an identity in its field's normal form. A number counts as its canonical text. Throws `invalid`
 * for other types, empty values, values that are too long or identify no one, and an e-mail address that is none.
 */
export function identityOf(table: Table, field: IdentityField, raw: unknown): Identity {
  const refuse = (code: string, rule: string) => invalid(code, field.name, `${field.name} ${rule}`);
  if (typeof raw === "number" && !Number.isSafeInteger(raw)) {
    throw refuse("invalid_identity", "must be a safe integer if it is a number; send it as a string");
  }
  if (typeof raw !== "string" && typeof raw !== "number") {
    const hint = raw === null ? "; null does not remove an identity" : "";
    throw refuse("invalid_identity", `must be a string or a number${hint}`);
  }
  const tooLong = () => refuse("identity_too_long", `must not be longer than ${MAX_IDENTITY_BYTES} bytes`);
  const sent = String(raw);
  // Checked first: the time of `normalize` grows with the square of the length.
  if (!hasAtMostBytes(MAX_IDENTITY_BYTES, sent)) throw tooLong();
  const value = normalForms[field.normalForm](sent);
  if (value === "") throw refuse("empty_identity", "must not be empty");
  if (!hasAtMostBytes(MAX_IDENTITY_BYTES, value)) throw tooLong();
  if (UNREADABLE.test(value)) {
    throw refuse("invalid_identity", "must not contain control characters or lone surrogates");
  }
  if (table.isNobody(value)) throw refuse("placeholder_identity", "must not be a placeholder");
  if (field.normalForm === "email" && !EMAIL.test(value)) {
    throw refuse("invalid_identity", `must be one address such as ann@example.com, without white space , ; " < >`);
  }
  return { field: field.name, value };
}

const normalForms: Record<NormalForm, (value: string) => string> = {
  text: (value) => value.normalize("NFC").trim(),
  email: emailForm,
};

/**
 * Control characters and lone surrogates. No URL can contain such a value, so the entity could be neither read nor
 * erased by it.
 */
const UNREADABLE = /\p{Cc}|\p{Cs}/u;

/** One `@` with a character on each side, none of them invisible. An apostrophe is part of many addresses. */
const EMAIL = /^[^\s\p{Cf},;"<>@]+@[^\s\p{Cf},;"<>@]+$/u;
