import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { BatchParts } from "./apply-batch.js";
import { finishPending } from "./finish-pending.js";

/** A message that is pending for so long was left behind by its writer, ms. */
const LEFT_BEHIND_MS = 60_000;

/** Looks after messages whose writers died or gave up. */
export interface Leftovers {
  /** Finishes all there are: before this process takes in any itself. */
  finishAll(): Promise<void>;
  /** From now on, finishes those left behind every minute. */
  start(): void;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
}

export function finishLeftovers(parts: BatchParts, arrivals: Clock, log: Log): Leftovers {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  async function finish(before: number): Promise<void> {
    const finished = await finishPending(parts, before);
    if (finished > 0) log.info({ messages: finished }, "finished messages that were left behind");
  }

  function run(): void {
    running = finish(arrivals() - LEFT_BEHIND_MS)
      .catch((err: unknown) => log.error({ err }, "messages left behind could not be finished"))
      .finally(() => {
        timer?.refresh();
      });
  }

  return {
    finishAll: () => finish(Number.MAX_SAFE_INTEGER),
    start() {
      timer = setTimeout(run, LEFT_BEHIND_MS).unref();
    },
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await running;
    },
  };
}
