import { type Background, inBackground } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { type Deletion, PROFILE, stageOf } from "./deletion.js";
import type { ErasureWatermark, Ledger } from "./ports.js";
import { advanceWatermark } from "./replay.js";

export interface SweeperParts {
  readonly ledger: Ledger;
  readonly watermark: ErasureWatermark;
  readonly clock: Clock;
  readonly log: Log;
  readonly queues: RunQueues;
  /** Names of all remote targets. */
  readonly remote: ReadonlySet<string>;
  /** Requests completed this many ms ago are forgotten; undefined: never. */
  readonly keepMs: number | undefined;
  /** From one sweep to the next, ms. */
  readonly sweepEveryMs: number;
}

/** Finds open requests that no process runs: hints may be lost, and a process may die with the requests that waited in it. */
export interface Sweeper {
  /** Sweeps now, and again and again until `stop`. */
  start(): void;
  /** One sweep: resolves when every request that was due has been run. */
  sweep(): Promise<void>;
  /** Resolves when no sweep is under way. */
  stop(): Promise<void>;
}

/** From one removal of old requests to the next, ms. */
const EXPIRE_EVERY_MS = 60_000;
const PAGE = 100;
/** Pages of one sweep; the next sweep goes on after them, and comes soon. */
const PAGES = 10;
const SOON_MS = 1_000;

export function sweeper(parts: SweeperParts): Sweeper {
  const { ledger, clock, log, queues, sweepEveryMs } = parts;
  const expireEvery = Math.ceil(EXPIRE_EVERY_MS / sweepEveryMs);
  let running: Background | undefined;
  let stopped = false;
  let after: string | undefined;
  let sweeps = 0;

  /** Queues what is due (a request in a queue already stays where it is), notes the watermark, and forgets what is old. */
  async function queueDue(): Promise<void> {
    for (let page = 0; page < PAGES && !stopped; page += 1) {
      const due = await ledger.open({ due: clock(), limit: PAGE, after });
      for (const deletion of fromAnywhere(due)) queues.add(queueOf(deletion, parts.remote), deletion.requestId);
      after = due.length < PAGE ? undefined : due.at(-1)?.requestId;
      if (after === undefined) break;
    }
    await advanceWatermark(parts);
    sweeps += 1;
    if (parts.keepMs !== undefined && sweeps % expireEvery === 0) {
      await ledger.expire(clock() - parts.keepMs, parts.watermark.noteForgotten);
    }
  }

  /** Resolves with the pause until the next sweep, ms. */
  async function tick(): Promise<number> {
    await queueDue().catch((error: unknown) => log.warn({ err: error }, "looking for open deletions failed"));
    return after === undefined ? sweepEveryMs : Math.min(sweepEveryMs, SOON_MS);
  }

  return {
    start() {
      running = inBackground(tick, { ref: false });
    },
    async sweep() {
      await queueDue();
      await queues.idle();
      await advanceWatermark(parts);
    },
    async stop() {
      stopped = true;
      await running?.stop();
    },
  };
}

/** The same, begun at a random place: processes that sweep at the same time seldom meet at one request. */
function fromAnywhere<T>(items: readonly T[]): T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}

/** Requests that wait to be run, in queues that do not delay each other. */
export interface RunQueues {
  /** Puts the request at the end of a queue, unless it waits or runs already. */
  add(queue: string, requestId: string): void;
  /** Resolves when no request waits or runs. */
  idle(): Promise<void>;
  /** Drops the requests that wait; resolves when none runs. */
  close(): Promise<void>;
}

/** The queue of runs that call no remote target. Every other queue has the name of the remote target that its runs call. */
export const OWN_STORES = "";

/** The queue in which an open request is run next, given the names of all remote targets. */
function queueOf(deletion: Pick<Deletion, "targets" | "done">, remote: ReadonlySet<string>): string {
  const stage = stageOf(deletion);
  if (remote.has(stage)) return stage;
  if (stage === PROFILE || deletion.targets.includes(stage)) return OWN_STORES;
  // All targets are erased: what follows verifies each of them once more.
  return deletion.targets.findLast((name) => remote.has(name)) ?? OWN_STORES;
}

/** Runs of one queue that are under way at once. */
const AT_ONCE = 8;

/** `run` never rejects; it resolves with the queue in which the request is to go on, or undefined when the run has ended. */
export function runQueues(run: (queue: string, requestId: string) => Promise<string | undefined>): RunQueues {
  const queues = new Map<string, { waiting: string[]; running: number }>();
  const known = new Set<string>();
  const underWay = new Set<Promise<void>>();
  let closed = false;

  function queueNamed(name: string) {
    const queue = queues.get(name) ?? { waiting: [], running: 0 };
    queues.set(name, queue);
    return queue;
  }

  function add(name: string, requestId: string): void {
    if (closed || known.has(requestId)) return;
    known.add(requestId);
    queueNamed(name).waiting.push(requestId);
    next(name);
  }

  function next(name: string): void {
    const queue = queueNamed(name);
    if (queue.running >= AT_ONCE) return;
    const requestId = queue.waiting.shift();
    if (requestId === undefined) return;
    queue.running += 1;
    const ended = run(name, requestId).then((goesOnIn) => {
      underWay.delete(ended);
      queue.running -= 1;
      known.delete(requestId);
      if (goesOnIn !== undefined) add(goesOnIn, requestId);
      next(name);
    });
    underWay.add(ended);
  }

  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.all(underWay);
  }

  return {
    add,
    idle,
    async close() {
      closed = true;
      for (const queue of queues.values()) queue.waiting = [];
      await idle();
    },
  };
}
