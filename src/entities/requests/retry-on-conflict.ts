import { setTimeout as sleep } from "node:timers/promises";
import { backoff, jittered } from "../../async/retry.js";
import { ServiceError } from "../../errors.js";

/**
 * Maximum attempts. One fails only when another write or a deletion changed one of the same profiles since planning.
 */
const ATTEMPTS = 30;
const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 100;

/**
 * Repeats work that returns undefined because another writer changed the same profiles. Rejects with `busy`
 * after 30 attempts, and with an `AbortError` instead of the next attempt once `late` has aborted.
 */
export async function retryOnConflict<T>(work: () => Promise<T | undefined>, late?: AbortSignal): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const result = await work();
    if (result !== undefined) return result;
    const pauseMs = jittered(backoff(attempt, FIRST_PAUSE_MS, MAX_PAUSE_MS));
    await sleep(pauseMs, undefined, late === undefined ? {} : { signal: late });
  }
  throw new ServiceError("busy", "Too many concurrent updates of the same entities", { retryAfter: 1 });
}
