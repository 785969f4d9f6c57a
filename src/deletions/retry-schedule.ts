import { backoff } from "../async/retry.js";
import { LONGEST_WAIT_MS } from "./deletion.js";

const FIRST_DELAY_MS = 250;
const LONGEST_OWN_DELAY_MS = 30_000;

/**
 * Returns the ms to wait after this many consecutive failures. The delay doubles up to 30 s for our own stores and 15
 * min for a remote target.
 */
export function retryDelay(attempts: number, isRemote: boolean): number {
  return backoff(attempts + 1, FIRST_DELAY_MS, isRemote ? LONGEST_WAIT_MS : LONGEST_OWN_DELAY_MS);
}
