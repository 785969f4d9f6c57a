import { setTimeout as sleep } from "node:timers/promises";
import { waitAfter } from "./failure.js";

export interface AttemptLimits {
  /** All attempts together take no longer, ms. */
  readonly deadlineMs: number;
  /** One attempt takes no longer, ms. */
  readonly attemptMs: number;
  /** Ends everything early. */
  readonly signal: AbortSignal;
}

/**
 * Does what may be done again until it succeeds: up to three times, with a pause between, as long as there is time left and
 * the error is one that passes. Rejects with the last error.
 */
export async function attempts<T>(
  { deadlineMs, attemptMs, signal }: AttemptLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (let attempt = 1; ; attempt += 1) {
    const left = Math.max(0, Math.ceil(Math.min(attemptMs, end - performance.now())));
    try {
      return await work(AbortSignal.any([signal, AbortSignal.timeout(left)]));
    } catch (error) {
      const wait = waitAfter(error, attempt);
      if (wait === undefined || signal.aborted || performance.now() + wait >= end) throw error;
      await sleep(wait, undefined, { signal });
    }
  }
}
