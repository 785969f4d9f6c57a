import { randomBytes, randomUUID } from "node:crypto";

/** Returns a new id of 32 lower-case hex characters. */
export function randomId(): string {
  return randomUUID().replaceAll("-", "");
}

/** Hex digits of the common prefix. */
export const NEARBY_DIGITS = 8;
/** Consecutive ids that share a prefix. */
const NEARBY = 1_000;

/**
 * Returns a generator of random ids of 32 lower-case hex characters, for rows that are written together. Consecutive
 * ids share a prefix, so that they are neighbours in a store's indexes; ids with random prefixes are each written to
 * another page. The ids do not reveal the time.
 */
export function clusteredIds(): () => string {
  let start = "";
  let left = 0;
  return () => {
    if (left === 0) {
      start = randomBytes(NEARBY_DIGITS / 2).toString("hex");
      left = NEARBY;
    }
    left -= 1;
    return start + randomId().slice(NEARBY_DIGITS);
  };
}
