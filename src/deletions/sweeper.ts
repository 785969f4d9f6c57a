import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { ErasureWatermark, Ledger } from "./ports.js";
import { advanceWatermark } from "./replay.js";
import { queueOf, type RunQueues } from "./run-queues.js";

export interface SweeperParts {
  readonly ledger: Ledger;
  readonly watermark: ErasureWatermark;
  readonly clock: Clock;
  readonly log: Log;
  readonly queues: RunQueues;
  /** Names of all remote targets. */
  readonly remote: ReadonlySet<string>;
  /** Requests completed so many ms ago are forgotten; undefined: never. */
  readonly keepMs: number | undefined;
  /** From one look to the next, ms. */
  readonly sweepEveryMs: number;
}

/** Finds open requests that no process runs: hints may be lost, and a process may die with the requests that waited in it. */
export interface Sweeper {
  /** Looks now, and again and again until `stop`. */
  start(): void;
  /** One look: resolves when every request that was due has been run. */
  sweep(): Promise<void>;
  /** Resolves when no look is under way. */
  stop(): Promise<void>;
}

/** From one removal of old requests to the next, ms. */
const EXPIRE_EVERY_MS = 60_000;
const PAGE = 100;
/** Pages of one look; the next look goes on after them, and comes soon. */
const PAGES = 10;
const SOON_MS = 1_000;

export function sweeper(parts: SweeperParts): Sweeper {
  const { ledger, clock, log, queues, sweepEveryMs } = parts;
  const expireEvery = Math.ceil(EXPIRE_EVERY_MS / sweepEveryMs);
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  let stopped = false;
  let after: string | undefined;
  let looks = 0;

  /** Queues what is due; a request in a queue already stays where it is. */
  async function look(): Promise<void> {
    for (let page = 0; page < PAGES && !stopped; page += 1) {
      const due = await ledger.open({ due: clock(), limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const deletion of fromAnywhere(due)) queues.add(queueOf(deletion, parts.remote), deletion.requestId);
      after = due.length < PAGE ? undefined : due.at(-1)?.requestId;
      if (after === undefined) break;
    }
    await advanceWatermark(parts);
    looks += 1;
    if (parts.keepMs !== undefined && looks % expireEvery === 0) {
      await ledger.expire(clock() - parts.keepMs, parts.watermark.noteForgotten);
    }
  }

  function tick(): void {
    underWay = look()
      .catch((error: unknown) => log.warn({ err: error }, "looking for open deletions failed"))
      .finally(() => {
        const pauseMs = after === undefined ? sweepEveryMs : Math.min(sweepEveryMs, SOON_MS);
        if (!stopped) timer = setTimeout(tick, pauseMs).unref();
      });
  }

  return {
    start: tick,
    async sweep() {
      await look();
      await queues.idle();
      await advanceWatermark(parts);
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}

/** The same, begun at a random place: processes that sweep at the same time seldom meet at one request. */
function fromAnywhere<T>(items: readonly T[]): T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
