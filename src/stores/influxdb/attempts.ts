import { setTimeout as sleep } from "node:timers/promises";
import { withTimeLimit } from "../../async/time-limit.js";
import { waitAfter } from "./failure.js";

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
export async function attempts<T>(
  { deadlineMs, attemptMs, signals }: AttemptLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    const left = Math.max(0, Math.ceil(Math.min(attemptMs, end - performance.now())));
    try {
      return await withTimeLimit(left, signals, work);
    } catch (error) {
      const wait = waitAfter(error, attempt);
      const isEnded = signals.some(({ aborted }) => aborted);
      if (wait === undefined || isEnded || performance.now() + wait >= end) throw error;
      await withTimeLimit(deadlineMs, signals, (signal) => sleep(wait, undefined, { signal }));
    }
  }
}
