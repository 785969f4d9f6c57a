import { type Background, inBackground } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { History, Idempotency } from "./ports.js";

const EVERY_MS = 20_000;

export interface RetentionDependencies {
  readonly history: Pick<History, "expire">;
  readonly idempotency: readonly Pick<Idempotency, "forget">[];
  /** Removes memberships of deleted segments; see `CatalogueStore`. */
  readonly catalogue: { endMemberships(): Promise<boolean> };
  /** See `clock.monotonicClock`. */
  readonly arrivalClock: Clock;
  /** Retention of messages, ms; undefined: unlimited. */
  readonly retentionMs: number | undefined;
  readonly log: Log;
}

/**
 * Removes expired messages, expired idempotent requests, and memberships of deleted segments. Runs now and 20 s after
 * each round, or at once while more are left. A failed removal does not stop the others. `stop` resolves when no round
 * is in progress.
 */
export function enforceRetention(dependencies: RetentionDependencies): Background {
  const { history, idempotency, catalogue, arrivalClock, retentionMs, log } = dependencies;

  async function round(): Promise<number> {
    const removals = await Promise.allSettled([
      retentionMs === undefined ? undefined : history.expire(arrivalClock() - retentionMs),
      ...idempotency.map((requests) => requests.forget(arrivalClock())),
      catalogue.endMemberships(),
    ]);
    for (const removal of removals) {
      if (removal.status === "rejected") {
        log.error({ err: removal.reason }, "removing expired messages and requests failed; retrying");
      }
    }
    return removals.some((removal) => removal.status === "fulfilled" && removal.value === true) ? 0 : EVERY_MS;
  }

  return inBackground(round);
}
