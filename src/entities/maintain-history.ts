import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { History } from "./history.js";
import type { Idempotency } from "./idempotency.js";

const EVERY_MS = 20_000;

export interface HistoryMaintenanceParts {
  readonly history: Pick<History, "expire">;
  readonly idempotency: Pick<Idempotency, "forget">;
  /** See `clock.arrivals`. */
  readonly arrivals: Clock;
  /** How long messages are kept, ms; undefined is for ever. */
  readonly keepMs: number | undefined;
  readonly log: Log;
}

/**
 * Removes messages that are older than the retention, and requests that can be repeated no more, now and 20 s after each round. `stop` resolves
 * when no round is under way.
 */
export function maintainHistory({ history, idempotency, arrivals, keepMs, log }: HistoryMaintenanceParts): {
  stop(): Promise<void>;
} {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let running = round();

  async function round(): Promise<void> {
    try {
      if (keepMs !== undefined) await history.expire(arrivals() - keepMs);
      await idempotency.forget(arrivals());
    } catch (err) {
      log.error({ err }, "removing what is too old from the history failed and will be tried again");
    }
    if (!stopped) timer = setTimeout(next, EVERY_MS).unref();
  }

  function next(): void {
    running = round();
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
