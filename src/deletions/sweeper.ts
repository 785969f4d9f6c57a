import type { Clock } from "../clock.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { Suppression } from "../entities/suppression.js";
import type { Log } from "../log.js";
import type { DownstreamTarget } from "./downstream-target.js";
import { advanceWatermark } from "./erase-again.js";
import type { ErasureWatermark } from "./erasure-watermark.js";
import type { Ledger } from "./ledger.js";
import { sweepLeftovers } from "./sweep-leftovers.js";

export interface SweeperParts {
  readonly ledger: Ledger;
  readonly watermark: ErasureWatermark;
  readonly entities: EntityStore;
  readonly suppression: Suppression;
  readonly entityKeys: EntityKeys;
  readonly targets: readonly DownstreamTarget[];
  readonly clock: Clock;
  readonly log: Log;
  run(requestId: string): Promise<void>;
  /** Requests completed so many ms ago are forgotten; undefined: never. */
  readonly keepMs: number | undefined;
}

/** Finds whatever nobody runs: hints may be lost, a process may die, a target may be away. */
export interface Sweeper {
  /** Looks now, and again and again until `stop`. */
  start(): void;
  /** One look: resolves when every request that was due has been run. */
  sweep(): Promise<void>;
  /** Resolves when no run is under way. */
  stop(): Promise<void>;
}

const EVERY_MS = 1000;
const LEFTOVERS_EVERY_MS = 60_000;
const AT_ONCE = 8;
const PAGE = 100;

/** The same, begun somewhere else: those who sweep at the same moment seldom meet at one request. */
function fromAnywhere<T>(items: readonly T[]): T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

export function sweeper(parts: SweeperParts): Sweeper {
  const { ledger, clock, log } = parts;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let stopped = false;
  let leftoversAt = clock() + LEFTOVERS_EVERY_MS;
  let leftoversFrom = 0;

  async function sweep(): Promise<void> {
    for (;;) {
      const due = await ledger.open({ due: clock(), limit: PAGE });
      const queue = fromAnywhere(due.map(({ requestId }) => requestId));
      let failed = false;
      const runners = Array.from({ length: Math.min(AT_ONCE, queue.length) }, async () => {
        for (let next = queue.shift(); next !== undefined && !stopped; next = queue.shift())
          failed = !(await runOne(next)) || failed;
      });
      await Promise.all(runners);
      if (due.length < PAGE || failed || stopped) break;
    }
    await advanceWatermark(parts);
    if (clock() >= leftoversAt) await sweepSome();
  }

  /** False when not even the failure could be noted, so that the request is still due. */
  async function runOne(requestId: string): Promise<boolean> {
    try {
      await parts.run(requestId);
      return true;
    } catch (error) {
      log.warn({ err: error, request: requestId }, "a deletion could not be run");
      return false;
    }
  }

  async function sweepSome(): Promise<void> {
    leftoversAt = clock() + LEFTOVERS_EVERY_MS;
    leftoversFrom = await sweepLeftovers(parts, leftoversFrom);
    if (parts.keepMs !== undefined) await ledger.expire(clock() - parts.keepMs);
  }

  function tick(): void {
    underWay = sweep()
      .catch((error: unknown) => log.warn({ err: error }, "looking for open deletions failed"))
      .finally(() => {
        if (!stopped) timer = setTimeout(tick, EVERY_MS).unref();
      });
  }

  return {
    start: tick,
    sweep,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
