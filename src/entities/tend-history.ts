import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { type FinishParts, finishPending } from "./finish-pending.js";
import type { Idempotency } from "./idempotency.js";

/** A message that is pending for so long was left behind by its writer, ms. */
const LEFT_BEHIND_MS = 30_000;

const EVERY_MS = 20_000;

export interface TendHistoryParts extends FinishParts {
  readonly idempotency: Idempotency;
  /** See `clock.arrivals`. */
  readonly arrivals: Clock;
  /** How long settled messages are kept, ms; undefined is for ever. */
  readonly keepMs: number | undefined;
  /** Whether other processes write to the same history: what they have under way is theirs. */
  readonly shared: boolean;
  readonly log: Log;
}

/** Looks after the history: messages whose writers died or gave up, those that are older than is wanted, and requests that can be repeated no more. */
export interface HistoryTending {
  /** Finishes all that was left behind, at once where nobody else can have it under way: before this process takes in any itself. */
  finishAll(): Promise<void>;
  /** From now on, finishes what was left behind and forgets what is too old, every 20 s. */
  start(): void;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
}

export function tendHistory(parts: TendHistoryParts): HistoryTending {
  const { arrivals, keepMs, shared, log, history, idempotency } = parts;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  async function finish(before: number): Promise<void> {
    const finished = await finishPending({ ...parts, onSetAside }, before);
    if (finished > 0) log.info({ messages: finished }, "finished messages that were left behind");
  }

  /** The error may quote the message: what is personal stays out of the log. */
  function onSetAside(id: string, error: unknown): void {
    const reason = error instanceof Error ? error.name : typeof error;
    log.error({ message_id: id, reason }, "a pending message cannot be applied: it is set aside");
  }

  async function round(): Promise<void> {
    try {
      await finish(arrivals() - LEFT_BEHIND_MS);
      if (keepMs !== undefined) await history.expire(arrivals() - keepMs);
      await idempotency.forget(arrivals());
    } catch (err) {
      log.error({ err }, "looking after the history failed and will be tried again");
    }
    timer?.refresh();
  }

  return {
    finishAll: () => finish(shared ? arrivals() - LEFT_BEHIND_MS : Number.MAX_SAFE_INTEGER),
    start() {
      const run = () => {
        running = round();
      };
      timer = setTimeout(run, EVERY_MS).unref();
      run();
    },
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await running;
    },
  };
}
