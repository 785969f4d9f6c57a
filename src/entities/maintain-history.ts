import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { History } from "./history.js";

const EVERY_MS = 20_000;

export interface HistoryMaintenanceParts {
  readonly history: Pick<History, "expire">;
  /** See `clock.arrivals`. */
  readonly arrivals: Clock;
  /** How long messages are kept, ms. */
  readonly keepMs: number;
  readonly log: Log;
}

/** Removes messages that are older than the retention, every 20 s from now on. `stop` resolves when no removal is under way. */
export function maintainHistory({ history, arrivals, keepMs, log }: HistoryMaintenanceParts): {
  stop(): Promise<void>;
} {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  async function round(): Promise<void> {
    await history.expire(arrivals() - keepMs).catch((err: unknown) => {
      log.error({ err }, "removing old messages failed and will be tried again");
    });
    timer?.refresh();
  }

  const run = () => {
    running = round();
  };
  timer = setTimeout(run, EVERY_MS).unref();
  run();
  return {
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await running;
    },
  };
}
