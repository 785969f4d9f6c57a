import { retry } from "./retry.js";

/** Maximum wait of a start for an unreachable store, and pause between two attempts, ms. */
const START_WAIT_MS = 60_000;
const START_PAUSE_MS = 1_000;

/** Retries work that fails because a store is unreachable. Logs that error. The work must be repeatable. */
export function retryStart(
  work: () => Promise<void>,
  isUnavailable: (error: unknown) => boolean,
  log: { warn(fields: object, message: string): void },
): Promise<void> {
  const until = performance.now() + START_WAIT_MS;
  return retry(work, (error) => {
    if (!isUnavailable(error) || performance.now() > until) return undefined;
    log.warn({ err: error }, "a store is unreachable; retrying the start");
    return START_PAUSE_MS;
  });
}
