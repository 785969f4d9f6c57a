import type { Clock } from "../clock.js";
import type { EntityKeys, EntityStore } from "../entities/ports.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import {
  type Deletion,
  EARLIER_OPEN,
  isStuck,
  KEY,
  NOTIFICATION,
  nextRemoteTarget,
  PROFILE,
  remoteNames,
  retryDelay,
  stageOf,
  turnDelay,
  VERIFIED,
} from "./deletion.js";
import { eraseFrom, inStage, profileTarget, StageError, targetNamed, verifyAll } from "./erase.js";
import type { DeletionObserver } from "./observe.js";
import { type DownstreamTarget, type DueNotifications, type Ledger, TargetError } from "./ports.js";

export interface RunDependencies {
  readonly ledger: Ledger;
  readonly entities: Pick<EntityStore, "erase" | "holds">;
  readonly entityKeys: Pick<EntityKeys, "destroy">;
  readonly targets: readonly DownstreamTarget[];
  readonly dueNotifications: Pick<DueNotifications, "send">;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly failpoint: Failpoint;
}

/** A request leased to this runner until the runner releases or completes it. */
export interface LeasedDeletion {
  readonly deletion: Deletion;
  readonly runner: string;
  /** The remote target that this run may call; undefined: only our own stores. */
  readonly target: string | undefined;
}

/** Result of a run. */
export interface RunResult {
  /** The remote target of the next run, or `NOTIFICATION`; absent when the request waits or has ended. */
  readonly next?: string;
  /** Whether the request waits for its retry time. */
  readonly failed?: boolean;
}

/**
 * Runs a leased request stage by stage: the live profile, each target, verification of all targets, the keys,
 * completion. While an earlier request over one of its identities is open, a run returns the request to the ledger
 * before it erases or calls anything. So the requests for one person take one place of a remote target. A run calls at
 * most one remote target: it leaves others, to erase or to verify, to runs of their lanes. Every stage can be repeated,
 * so a run may crash at any point and two runs may overlap. A failed stage is stored with its retry time.
 */
export async function runDeletion(dependencies: RunDependencies, leased: LeasedDeletion): Promise<RunResult> {
  const { ledger, clock, failpoint } = dependencies;
  const { requestId, hashes } = leased.deletion;
  const downstream = leased.deletion.targets.map((name) => targetNamed(name, dependencies.targets));
  const targets = [profileTarget(dependencies.entities), ...downstream];
  const remoteTargets = new Set(remoteNames(dependencies.targets));
  let deletion = leased.deletion;

  const release = (progress: Deletion, nextTarget: string | undefined, waitMs: number) =>
    ledger.release(requestId, leased.runner, { ...progress, nextTarget, notBefore: clock() + waitMs });

  try {
    failpoint("deletion-begun");
    const first = await ledger.firstOpen(hashes, requestId);
    if (first !== undefined && first !== requestId) {
      await release({ ...deletion, problem: EARLIER_OPEN }, undefined, turnDelay(deletion, clock()));
      // The earlier one may be completed by now: its run wakes no request that is leased.
      if ((await ledger.firstOpen(hashes, requestId)) === requestId) await ledger.wake([requestId]);
      return {};
    }
    for (let stage = stageOf(deletion); stage !== KEY; stage = stageOf(deletion)) {
      const nextTarget = nextRemoteTarget(deletion, remoteTargets);
      if (nextTarget !== undefined && nextTarget !== leased.target) {
        await release(deletion, nextTarget, 0);
        return { next: nextTarget };
      }
      if (stage === VERIFIED) {
        failpoint("all-targets-erased");
        const callable = targets.filter(({ name, remote }) => !remote || name === leased.target);
        await verifyAll(callable, deletion);
        deletion = { ...deletion, times: verifiedNow(deletion, callable, clock()) };
        if (nextRemoteTarget(deletion, remoteTargets) !== undefined) continue;
        deletion = { ...deletion, attempts: 0, problem: undefined };
      } else {
        await eraseFrom(targets.find(({ name }) => name === stage) as DownstreamTarget, deletion);
        if (stage === PROFILE) failpoint("profile-erased");
        if (deletion.attempts > 0 && remoteTargets.has(stage)) await ledger.wakeWaitingFor(stage);
        // Reset `attempts` only when a stage is done for the first time, so that a target that repeatedly
        // contains data again backs off.
        if (deletion.times[stage] === undefined) deletion = { ...deletion, attempts: 0, problem: undefined };
        deletion = { ...deletion, times: { ...unverified(deletion), [stage]: { erasedAt: clock() } } };
      }
      deletion = { ...deletion, done: [...deletion.done, stage] };
      failpoint("target-clean");
    }
    await complete(dependencies, deletion);
    return deletion.notify ? { next: NOTIFICATION } : {};
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    const { stage, cause } = error;
    const attempts = deletion.attempts + 1;
    const problem = cause instanceof TargetError ? cause.message : `${stage} failed`;
    const done = deletion.done.filter((other) => other !== stage);
    const failed = { ...deletion, done, attempts, problem };
    await release(failed, nextRemoteTarget(failed, remoteTargets), retryDelay(attempts, remoteTargets.has(stage)));
    dependencies.observer.failed(stage);
    const fields = { request: requestId, stage, attempts, stuck: isStuck({ attempts }) };
    dependencies.log.warn(fields, "a deletion failed; retrying later");
    return { failed: true };
  }
}

/** Returns the times of erasure: once a target is erased again, all targets are verified again. */
function unverified({ times }: Deletion): Deletion["times"] {
  return Object.fromEntries(Object.entries(times).map(([name, { verifiedAt: _, ...erased }]) => [name, erased]));
}

function verifiedNow({ times }: Deletion, targets: readonly DownstreamTarget[], now: number): Deletion["times"] {
  const verified = targets.map(({ name, isTold }) => {
    const verifiedAt = isTold ? (times[name]?.erasedAt ?? now) : now;
    return [name, { ...times[name], verifiedAt }];
  });
  return { ...times, ...Object.fromEntries(verified) };
}

/** Destroys the keys of a fully verified request, completes it, and lets the next over each of its identities begin. */
async function complete(
  { ledger, entityKeys, dueNotifications, clock, observer, log, failpoint }: RunDependencies,
  { requestId, acceptedAt, entities, hashes, done, times }: Deletion,
): Promise<void> {
  failpoint("keys-untouched");
  await inStage(KEY, async () => {
    await ledger.destroyKey(requestId, { done, times });
    await entityKeys.destroy(entities);
  });
  failpoint("keys-checkpointed");
  const at = clock();
  if (!(await ledger.complete(requestId, at, times))) return;
  observer.completed(at - acceptedAt);
  log.info({ request: requestId }, "a deletion is complete");
  // Without this, as after a crash, the next ones begin at the end of their pauses.
  if ((await ledger.firstOpen(hashes)) === undefined) return;
  const next = await Promise.all(hashes.map((hash) => ledger.firstOpen([hash])));
  const waiting = [...new Set(next)].filter((id) => id !== undefined);
  await ledger.wake(waiting);
  for (const id of waiting) dueNotifications.send(id);
}
