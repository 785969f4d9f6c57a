import { backoff, jittered, repeat } from "../async/retry.js";
import { ServiceError } from "../errors.js";

/** Each attempt but the first needs another write, or a deletion, that changes one of the same profiles at the same time. */
const ATTEMPTS = 30;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/**
 * Repeats work whose result is undefined because another writer changed the same profiles meanwhile. Rejects with `unavailable`
 * when other writers do so without end.
 */
export async function againstWriters<T>(work: () => Promise<T | undefined>): Promise<T> {
  const result = await repeat(work, (done, attempt) =>
    done !== undefined || attempt === ATTEMPTS
      ? undefined
      : jittered(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)),
  );
  if (result !== undefined) return result;
  throw new ServiceError("unavailable", "Too much is written to the same entities at once", { retryAfter: 1 });
}
