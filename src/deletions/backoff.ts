const FIRST_MS = 250;
const LONGEST_OWN_MS = 30_000;
const LONGEST_REMOTE_MS = 15 * 60_000;

/** Ms to wait after that many failed attempts in a row: doubling, our own stores at most 30 s, a remote target at most 15 min. */
export function retryDelay(attempts: number, remote: boolean): number {
  return Math.min(remote ? LONGEST_REMOTE_MS : LONGEST_OWN_MS, FIRST_MS * 2 ** Math.min(attempts, 20));
}
