import { backoff } from "../async/retry.js";

const FIRST_DELAY_MS = 250;
const LONGEST_OWN_DELAY_MS = 30_000;
const LONGEST_REMOTE_DELAY_MS = 15 * 60_000;

/**
 * A request that waits for an earlier one over the same identities is tried again after this many ms. The completion of the earlier one
 * wakes it; this covers a wake-up that was lost with its process.
 */
export const WAIT_FOR_EARLIER_MS = 10_000;

/** Returns the ms to wait after this many failed attempts in a row: doubling, our own stores at most 30 s, a remote target at most 15 min. */
export function retryDelay(attempts: number, isRemote: boolean): number {
  return backoff(attempts + 1, FIRST_DELAY_MS, isRemote ? LONGEST_REMOTE_DELAY_MS : LONGEST_OWN_DELAY_MS);
}
