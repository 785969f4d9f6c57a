import type { Clock } from "../clock.js";
import type { Ledger } from "./ledger.js";

/**
 * How long a run has its request for itself when it is not heard of, ms: so much later another process takes the request on after
 * the one that ran it was killed. A second run at the same time would do no harm, only work.
 */
export const LEASE_MS = 8_000;

/** A run that goes on takes its lease anew this often, ms. */
const RENEW_MS = 2_000;

/**
 * Does `work` while this runner alone has the request, then releases it, unless the result says that it is complete, which
 * releases it too. Undefined, without doing anything, when another runner has the request, or it is not open.
 */
export async function whileClaimed<T>(
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
  requestId: string,
  runner: string,
  work: () => Promise<T>,
  isComplete: (result: T) => boolean,
): Promise<T | undefined> {
  const claim = () => {
    const now = clock();
    return ledger.claim(requestId, runner, now, now + LEASE_MS);
  };
  if (!(await claim())) return undefined;
  let renewal: Promise<unknown> = Promise.resolve();
  // A renewal that fails is made up for by the next one.
  const timer = setInterval(() => {
    renewal = claim().catch(() => {});
  }, RENEW_MS).unref();
  let complete = false;
  try {
    const result = await work();
    complete = isComplete(result);
    return result;
  } finally {
    clearInterval(timer);
    // A renewal that is under way must not take the request again after its release.
    await renewal;
    if (!complete) await ledger.release(requestId, runner);
  }
}
