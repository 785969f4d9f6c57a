import { randomBytes, randomUUID } from "node:crypto";

/** Returns a new id of 32 lower-case hex characters. */
export function randomId(): string {
  return randomUUID().replaceAll("-", "");
}

/** Hex digits of the common prefix. */
export const NEARBY_DIGITS = 8;
/** Consecutive ids that share a prefix. */
const NEARBY = 1_000;
/** Hex digits of an id after the prefix. */
const OWN_DIGITS = 32 - NEARBY_DIGITS;

/**
 * Returns a generator of random ids of 32 lower-case hex characters, for rows that are written together. Consecutive
 * ids share a prefix, so that they are neighbours in a store's indexes; ids with random prefixes are each written to
 * another page. The ids do not reveal the time.
 */
export function clusteredIds(): () => string {
  let prefix = "";
  let digits = "";
  return () => {
    if (digits === "") {
      prefix = randomBytes(NEARBY_DIGITS / 2).toString("hex");
      digits = randomBytes((NEARBY * OWN_DIGITS) / 2).toString("hex");
    }
    const id = prefix + digits.slice(-OWN_DIGITS);
    digits = digits.slice(0, -OWN_DIGITS);
    return id;
  };
}
