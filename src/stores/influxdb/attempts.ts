import { retry } from "../../async/retry.js";
import { withTimeLimit } from "../../async/time-limit.js";
import { waitAfter } from "./errors.js";

export interface AttemptLimits {
  /** All attempts together take no longer, ms. */
  readonly deadlineMs: number;
  /** One attempt takes no longer, ms. */
  readonly attemptMs: number;
  /** Each ends everything early. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Does what may be done again until it succeeds: up to three times, with a pause between, as long as there is time left and
 * the error is one that passes. Rejects with the last error.
 */
export function attempts<T>(
  { deadlineMs, attemptMs, signals }: AttemptLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  return withTimeLimit(deadlineMs, signals, (signal) =>
    retry(
      () => withTimeLimit(attemptMs, [signal], work),
      (error, attempt) => {
        const wait = waitAfter(error, attempt);
        return wait === undefined || performance.now() + wait >= end ? undefined : wait;
      },
      { signal },
    ),
  );
}
