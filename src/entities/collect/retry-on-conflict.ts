import { backoff, jittered, repeat } from "../../async/retry.js";
import { ServiceError } from "../../errors.js";

/** Each attempt but the first needs another write, or a deletion, that changed one of the same profiles since the plan was made. */
const ATTEMPTS = 30;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/**
 * Repeats work whose result is undefined because another writer changed the same profiles. Rejects with `unavailable` after 30 attempts, and with
 * an `AbortError` instead of another attempt once `late` has aborted.
 */
export async function retryOnConflict<T>(work: () => Promise<T | undefined>, late?: AbortSignal): Promise<T> {
  const pauseAfter = (done: T | undefined, attempt: number) =>
    done !== undefined || attempt === ATTEMPTS
      ? undefined
      : jittered(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
  const result = await repeat(work, pauseAfter, late === undefined ? {} : { signal: late });
  if (result !== undefined) return result;
  throw new ServiceError("unavailable", "Too many concurrent updates of the same entities", { retryAfter: 1 });
}
