import { randomUUID } from "node:crypto";
import { type Background, inBackground } from "../async/retry.js";
import { isCompleted, LEASE_MS, NOTIFICATION, remoteNames } from "./deletion.js";
import { type MaintenanceDependencies, maintainLedger } from "./maintain-ledger.js";
import { runNotification } from "./notify.js";
import type { DueNotifications, Ledger, Webhook } from "./ports.js";
import { type RunDependencies, runDeletion } from "./run.js";

export interface SchedulerDependencies extends RunDependencies, MaintenanceDependencies {
  readonly ledger: Ledger;
  readonly dueNotifications: DueNotifications;
  /** Undefined: not configured; pending notifications wait until a webhook is configured again. */
  readonly webhook: Webhook | undefined;
  /** Ms between polls of the ledger for due requests. */
  readonly pollMs: number;
}

/** Runs requests that are due: at once after a due notification, otherwise at the next poll. Maintains the ledger. */
export interface Scheduler {
  /** Starts listening for due notifications, polling the ledger, and maintaining it. */
  start(): void;
  /**
   * Runs a request that is due; when too many are running, leaves it to the poll. Resolves when the run has ended.
   * Never rejects.
   */
  run(requestId: string): Promise<void>;
  /** Starts no more runs and resolves when none is in progress. */
  stop(): Promise<void>;
}

/** Pause between two renewals of a lease, ms. */
const RENEW_MS = 2_000;

/** Concurrent runs for our own stores, which share commits, and per remote target or webhook. */
const OWN_AT_ONCE = 16;
const REMOTE_AT_ONCE = 8;

/** Runs that call one remote target, the webhook, or only our own stores. One that hangs does not delay the others. */
interface Lane {
  readonly target: string | undefined;
  /** Maximum runs in progress. */
  readonly atOnce: number;
  /** Runs in progress by request id. */
  readonly runs: Map<string, Promise<string | undefined>>;
  /** Failed runs since the last successful one. */
  failures: number;
}

export function scheduler(dependencies: SchedulerDependencies): Scheduler {
  const { ledger, dueNotifications, targets, webhook, clock, log, failpoint, pollMs } = dependencies;
  const lane = (target: string | undefined, atOnce: number): Lane => ({
    target,
    atOnce,
    runs: new Map(),
    failures: 0,
  });
  const ownStores = lane(undefined, OWN_AT_ONCE);
  const called = webhook === undefined ? remoteNames(targets) : [...remoteNames(targets), NOTIFICATION];
  const remote = new Map(called.map((target) => [target, lane(target, REMOTE_AT_ONCE)]));
  const background: Background[] = [];
  const underWay = new Set<Promise<void>>();
  let isStopped = false;

  /** Runs a request in a lane, then in the lane of each remote target that it reaches, while there is capacity. */
  function follow(requestId: string, first: Lane): Promise<void> {
    const following = (async () => {
      for (let lane: Lane | undefined = first; lane !== undefined && !isStopped; ) {
        if (lane.runs.size >= lane.atOnce || lane.runs.has(requestId)) return;
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

  /**
   * Leases a request and runs it. A run that fails before it stores its result is retried when the lease ends. Every
   * run has its own runner id, so that a run whose lease has ended cannot end the lease of a later run of this process.
   */
  async function leaseAndRun(requestId: string, lane: Lane): Promise<string | undefined> {
    const runner = randomUUID();
    let renewal: NodeJS.Timeout | undefined;
    try {
      const now = clock();
      const deletion = await ledger.lease(requestId, runner, now, now + LEASE_MS);
      if (deletion === undefined) return undefined;
      failpoint("deletion-leased");
      const renew = () => ledger.renew(requestId, runner, clock() + LEASE_MS).catch(() => {});
      renewal = setInterval(renew, RENEW_MS).unref();
      const leased = { runner, target: lane.target };
      const { next, failed } = isCompleted(deletion)
        ? await runNotification(dependencies, { ...leased, deletion })
        : await runDeletion(dependencies, { ...leased, deletion });
      lane.failures = failed ? lane.failures + 1 : 0;
      return next;
    } catch (error) {
      lane.failures += 1;
      log.warn({ err: error, request: requestId }, "running a deletion failed; retrying");
      return undefined;
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Starts due requests up to the capacity. Resolves with the ms until the next poll: 0 while more are due, unless the
   * last runs have all failed. Calls of a system that is down must not take the time of other runs.
   */
  async function poll(lane: Lane): Promise<number> {
    try {
      const { runs, atOnce } = lane;
      if (runs.size >= atOnce) await Promise.race(runs.values());
      // One more than can run, to see whether more are due.
      const page = (await ledger.due(clock(), lane.target, atOnce + 1)).filter((requestId) => !runs.has(requestId));
      const free = atOnce - runs.size;
      for (const requestId of page.slice(0, free)) void follow(requestId, lane);
      return page.length > free && lane.failures < atOnce ? 0 : pollMs;
    } catch (error) {
      log.warn({ err: error }, "reading due deletions failed; retrying");
      return pollMs;
    }
  }

  const run = (requestId: string) => follow(requestId, ownStores);

  return {
    start() {
      dueNotifications.listen(run);
      for (const lane of [ownStores, ...remote.values()]) {
        background.push(inBackground(() => poll(lane)));
      }
      background.push(maintainLedger(dependencies));
    },
    run,
    async stop() {
      isStopped = true;
      await Promise.all([dueNotifications.close(), ...background.map((task) => task.stop())]);
      await Promise.all(underWay);
    },
  };
}
