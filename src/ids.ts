import { randomBytes, randomUUID } from "node:crypto";

/** A new id of 32 lower-case hex characters. */
export function randomId(): string {
  return randomUUID().replaceAll("-", "");
}

/** Digits that nearby ids have in common, and how many ids in turn have them. */
export const NEARBY_DIGITS = 8;
const NEARBY = 1_000;

/**
 * A function that makes random ids of 32 lower-case hex characters, for rows that are written together: many in turn begin alike, so that they lie side by
 * side in a store's indexes. Ids that begin at random are each written to another page. They say nothing of the time.
 */
export function nearbyIds(): () => string {
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
