import { retry } from "./retry.js";

/** How long a start waits for a store that is unreachable, and between two attempts, ms. */
const START_WAIT_MS = 60_000;
const START_PAUSE_MS = 1_000;

/** Runs work that can be repeated, again and again while it fails for a store that is unreachable. Such an error is logged. */
export function retryStart(
  work: () => Promise<void>,
  isUnavailable: (error: unknown) => boolean,
  log: { warn(fields: object, message: string): void },
): Promise<void> {
  const until = performance.now() + START_WAIT_MS;
  return retry(work, (error) => {
    if (!isUnavailable(error) || performance.now() > until) return undefined;
    log.warn({ err: error }, "a store is unreachable: the start is tried again until it responds");
    return START_PAUSE_MS;
  });
}
