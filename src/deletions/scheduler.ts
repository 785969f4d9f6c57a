import { randomUUID } from "node:crypto";
import { type Background, inBackground } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import type { Ledger, NextTarget } from "./ports.js";
import type { LeasedDeletion } from "./run.js";

export interface SchedulerDependencies {
  readonly ledger: Pick<Ledger, "due" | "lease" | "renew">;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  /** Names of the configured remote targets. */
  readonly remoteTargets: readonly string[];
  /** From one poll to the next, ms. */
  readonly pollMs: number;
  /** See `runDeletion`. */
  run(leased: LeasedDeletion): Promise<string | undefined>;
}

/** Runs requests when the ledger says that they are due: at once for a hint, and otherwise at the next poll. */
export interface Scheduler {
  /** Polls the ledger from now on. */
  start(): void;
  /** Runs a request that is due, unless too many run; then the poll finds it. Resolves when the run has ended. Never rejects. */
  run(requestId: string): Promise<void>;
  /** Resolves when no run is under way, and none begins any more. */
  stop(): Promise<void>;
}

/** A runner that was killed has its request for this long after it last renewed its lease, ms. A second run would do no harm, only work. */
export const LEASE_MS = 8_000;
const RENEW_MS = 2_000;

/** Runs under way at once for each remote target, and for our own stores. */
const AT_ONCE = 8;

/** Due requests that a poll looks at: several processes choose among them. */
const PAGE = 8 * AT_ONCE;

/** The runs that call one remote target, or our own stores alone. A target that hangs delays no other. */
interface Lane {
  readonly target: string | undefined;
  readonly due: NextTarget;
  /** By request id. */
  readonly runs: Map<string, Promise<string | undefined>>;
  /** Whether the last run could not be begun or stored: the ledger is read-only or unreachable. */
  isFailing: boolean;
}

export function scheduler(dependencies: SchedulerDependencies): Scheduler {
  const { ledger, clock, log, failpoint, remoteTargets, pollMs, run } = dependencies;
  const runner = randomUUID();
  const lane = (target: string | undefined, due: NextTarget): Lane => ({
    target,
    due,
    runs: new Map(),
    isFailing: false,
  });
  const ownStores = lane(undefined, { isNoneOf: remoteTargets });
  const remote = new Map(remoteTargets.map((target) => [target, lane(target, { is: target })]));
  const polls: Background[] = [];
  const underWay = new Set<Promise<void>>();
  let isStopped = false;

  /** Runs a request in a lane, then in the lane of each remote target that it reaches, as long as there is a place. */
  function follow(requestId: string, first: Lane): Promise<void> {
    const following = (async () => {
      for (let lane: Lane | undefined = first; lane !== undefined && !isStopped; ) {
        if (lane.runs.size >= AT_ONCE || lane.runs.has(requestId)) return;
        const running = leaseAndRun(requestId, lane);
        lane.runs.set(requestId, running);
        const next: string | undefined = await running;
        lane.runs.delete(requestId);
        lane = next === undefined ? undefined : remote.get(next);
      }
    })();
    underWay.add(following);
    return following.finally(() => underWay.delete(following));
  }

  /** What fails before the run could store it is tried again when the lease has ended. */
  async function leaseAndRun(requestId: string, lane: Lane): Promise<string | undefined> {
    let renewal: NodeJS.Timeout | undefined;
    try {
      const now = clock();
      const deletion = await ledger.lease(requestId, runner, now, now + LEASE_MS);
      if (deletion === undefined) return undefined;
      failpoint("deletion-leased");
      const renew = () => ledger.renew(requestId, runner, clock(), clock() + LEASE_MS).catch(() => {});
      renewal = setInterval(renew, RENEW_MS).unref();
      const next = await run({ deletion, runner, target: lane.target });
      lane.isFailing = false;
      return next;
    } catch (error) {
      lane.isFailing = true;
      log.warn({ err: error, request: requestId }, "a deletion could not be run");
      return undefined;
    } finally {
      clearInterval(renewal);
    }
  }

  /** Starts what is due and has a place. Resolves with the pause until the next poll, ms: none while more is due. */
  async function poll(lane: Lane): Promise<number> {
    try {
      const { runs } = lane;
      if (runs.size >= AT_ONCE) await Promise.race(runs.values());
      const page = (await ledger.due(clock(), lane.due, PAGE)).filter((requestId) => !runs.has(requestId));
      const free = AT_ONCE - runs.size;
      for (const requestId of fromAnywhere(page).slice(0, free)) void follow(requestId, lane);
      return page.length > free && !lane.isFailing ? 0 : pollMs;
    } catch (error) {
      log.warn({ err: error }, "looking for due deletions failed");
      return pollMs;
    }
  }

  return {
    start() {
      for (const lane of [ownStores, ...remote.values()]) {
        polls.push(inBackground(() => poll(lane), { ref: false }));
      }
    },
    run: (requestId) => follow(requestId, ownStores),
    async stop() {
      isStopped = true;
      await Promise.all(polls.map((one) => one.stop()));
      await Promise.all(underWay);
    },
  };
}

/** Rotates the list to a random beginning, so that processes that poll at the same time seldom lease the same requests. */
function fromAnywhere<T>(items: readonly T[]): T[] {
  const start = Math.floor(Math.random() * items.length);
  return [...items.slice(start), ...items.slice(0, start)];
}
