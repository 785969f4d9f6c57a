import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceError } from "../errors.js";
import type { Log } from "../log.js";

/** How long a store that is away is waited for, and between two tries, ms. */
const LONGEST_MS = 60_000;
const PAUSE_MS = 1_000;

/** Runs work that can be repeated, again and again while it fails for a store that is away. */
export async function patiently(
  work: () => Promise<void>,
  failureOf: (error: unknown) => ServiceError | undefined,
  log: Pick<Log, "warn">,
): Promise<void> {
  const until = performance.now() + LONGEST_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (failureOf(error)?.kind !== "unavailable" || performance.now() > until) throw error;
      log.warn({ err: error }, "a store is away: the start goes on when it is back");
      await sleep(PAUSE_MS);
    }
  }
}
