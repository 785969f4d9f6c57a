import { type Background, inBackground } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { History, Idempotency } from "./ports.js";

const EVERY_MS = 20_000;

export interface RetentionParts {
  readonly history: Pick<History, "expire">;
  readonly idempotency: Pick<Idempotency, "forget">;
  /** Removes memberships of deleted segments, as `CatalogueStore` does. */
  readonly catalogue: { endMemberships(): Promise<boolean> };
  /** See `clock.monotonicClock`. */
  readonly arrivals: Clock;
  /** How long messages are kept, ms; undefined is for ever. */
  readonly keepMs: number | undefined;
  readonly log: Log;
}

/**
 * Removes messages that are older than the retention, requests that can be repeated no more, and memberships of deleted segments, now and 20 s after
 * each round, or at once while more of them are left. What fails does not keep the rest from being removed. `stop` resolves when no round is under way.
 */
export function enforceRetention(parts: RetentionParts): Background {
  const { history, idempotency, catalogue, arrivals, keepMs, log } = parts;

  async function round(): Promise<number> {
    const removals = await Promise.allSettled([
      keepMs === undefined ? undefined : history.expire(arrivals() - keepMs),
      idempotency.forget(arrivals()),
      catalogue.endMemberships(),
    ]);
    for (const removal of removals) {
      if (removal.status === "rejected") {
        log.error({ err: removal.reason }, "removing expired messages and requests failed; retrying");
      }
    }
    return removals.some((removal) => removal.status === "fulfilled" && removal.value === true) ? 0 : EVERY_MS;
  }

  return inBackground(round, { ref: false });
}
