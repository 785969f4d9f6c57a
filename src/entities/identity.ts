/** HMAC-SHA-256(PEPPER, table, field, value), 64 lower-case hex characters: all that is ever stored of an identity in the clear. */
export type IdentityHash = string;

/** An identity as it was written, in its field's normal form. Personal: lives in memory or sealed. */
export interface Identity {
  readonly field: string;
  readonly value: string;
}
