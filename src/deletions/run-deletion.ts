import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.js";
import type { EntityKeys } from "../entities/ports.js";
import type { Log } from "../log.js";
import { type Deletion, isStuck, PROFILE } from "./deletion.js";
import {
  type ErasingParts,
  type ErasureSteps,
  eraseEverywhere,
  inStage,
  placesOf,
  StageError,
} from "./erase-everywhere.js";
import type { DeletionObserver } from "./observe-deletions.js";
import { type Ledger, TargetError, type WakeUp } from "./ports.js";
import { retryDelay, WAIT_FOR_EARLIER_MS, waitLeft, wake, wakeWaitingFor } from "./waits.js";

export interface RunParts extends ErasingParts {
  readonly ledger: Ledger;
  readonly entityKeys: EntityKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly wakeUp: Pick<WakeUp, "hint">;
}

export interface RunLimits {
  /** Whether the run may go on with this remote target. */
  mayErase(target: string): boolean;
  /** Whether a request that waits for a later try goes on waiting; otherwise it is run now. */
  readonly keepsWaits: boolean;
}

/**
 * Runs an open request as far as it goes: the live profile, each target, all of them verified once more, the keys, completion.
 * Each step can be repeated, so a run may stop anywhere, and two may run at once. What fails is noted, and hinted for the next try; so is a
 * request that is leased to another runner, for that runner may die.
 * Resolves with the name of the remote target before which it stopped because the run may not erase there.
 */
export async function runDeletion(parts: RunParts, requestId: string, limits: RunLimits): Promise<string | undefined> {
  const end = await underLease(parts, requestId, async () => {
    parts.failpoint("deletion-leased");
    let reached: End;
    do reached = await runOnce(parts, requestId, limits);
    while (reached === "extended");
    return reached;
  });
  if (end === undefined) await hintLater(parts, requestId);
  return typeof end === "object" ? end.before : undefined;
}

/** How a run ended. A request that was extended meanwhile is to be run again. */
type End = "completed" | "extended" | "left open" | { readonly before: string };

/**
 * How long a runner has its request for itself after it last renewed its lease, ms. When
 * the runner was killed, another process takes the request on after that time. A second run at the same time would do no harm, only work.
 */
export const LEASE_MS = 8_000;

/** A run that goes on renews its lease this often, ms. */
const RENEW_MS = 2_000;

/**
 * Does `work` while this runner alone has the request, then releases it; completion has released it already. Undefined, without doing
 * anything, when another runner has the request, or it is not open.
 */
async function underLease(
  { ledger, clock }: RunParts,
  requestId: string,
  work: () => Promise<End>,
): Promise<End | undefined> {
  const runner = randomUUID();
  const lease = () => {
    const now = clock();
    return ledger.lease(requestId, runner, now, now + LEASE_MS);
  };
  if (!(await lease())) return undefined;
  let renewal: Promise<unknown> = Promise.resolve();
  // A renewal that fails is made up for by the next one.
  const timer = setInterval(() => {
    renewal = Promise.all([renewal, lease().catch(() => {})]);
  }, RENEW_MS).unref();
  let end: End = "left open";
  try {
    end = await work();
    return end;
  } finally {
    clearInterval(timer);
    // Renewals that are under way must not lease the request again after its release.
    await renewal;
    if (end !== "completed") await ledger.release(requestId, runner);
  }
}

/** How soon a request that another runner has is tried, ms. */
const TAKEN_MS = 2_000;

async function hintLater({ ledger, wakeUp }: RunParts, requestId: string): Promise<void> {
  const taken = await ledger.find(requestId);
  if (taken !== undefined && taken.completedAt === undefined) wakeUp.hint(requestId, TAKEN_MS);
}

async function runOnce(parts: RunParts, requestId: string, limits: RunLimits): Promise<End> {
  const open = await parts.ledger.find(requestId);
  if (open === undefined || open.completedAt !== undefined) return "completed";
  const waitMs = limits.keepsWaits ? waitLeft(open, parts.targets, parts.clock()) : 0;
  if (waitMs > 0) {
    parts.wakeUp.hint(requestId, waitMs);
    return "left open";
  }
  parts.failpoint("deletion-begun");
  const run = { deletion: open };
  try {
    return await eraseAndComplete(parts, run, limits);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    await noteError(parts, run.deletion, open.attempts, error);
    return "left open";
  }
}

/** A run that is under way: the request with the stages that are done by now. */
interface Run {
  deletion: Deletion;
}

async function eraseAndComplete(parts: RunParts, run: Run, limits: RunLimits): Promise<End> {
  const { ledger, entityKeys, failpoint } = parts;
  const { requestId, acceptedAt, targets, done } = run.deletion;
  if (!done.includes("verified")) {
    const before = await eraseEverywhere(parts, run.deletion, placesOf(parts, targets), stepsOf(parts, run, limits));
    if (before !== undefined) return { before: before.name };
  }
  const later = await inStage("verified", () => expectNoEarlier(parts, run.deletion));
  failpoint("all-targets-verified");
  const closing = await noteVerified(parts, run.deletion);
  if (closing === undefined) return "extended";
  run.deletion = closing;
  failpoint("keys-untouched");

  await inStage("key", () => entityKeys.destroy(closing.entities));
  failpoint("keys-checkpointed");
  const at = parts.clock();
  const completion = await ledger.complete(requestId, closing.revision, at, closing.times);
  if (completion === "extended") return "extended";
  await wake(parts, later);
  if (completion === "completed before") return "completed";
  parts.observer.completed(at - acceptedAt);
  parts.log.info({ request: requestId }, "a deletion is complete");
  return "completed";
}

/** Progress is noted in the ledger where another run should not repeat it, and where it ends a row of failures; our own stores are as quickly erased again. */
function stepsOf(parts: RunParts, run: Run, { mayErase }: RunLimits): ErasureSteps {
  let isNoted = false;
  return {
    async begin({ name, remote }) {
      if (!remote) return true;
      // A remote target may take long: the list of open requests says meanwhile that the request waits for it.
      if (!isNoted) await noteProgress(parts, run.deletion);
      isNoted = true;
      return mayErase(name);
    },

    async clean({ name, remote }) {
      if (name === PROFILE) parts.failpoint("profile-erased");
      const { requestId, done, attempts } = run.deletion;
      if (remote && attempts > 0) await wakeWaitingFor(parts, name, requestId);
      const times = { ...run.deletion.times, [name]: { erasedAt: parts.clock() } };
      run.deletion = { ...run.deletion, done: [...done, name], times, attempts: 0, problem: undefined, notBefore: 0 };
      if (remote || attempts > 0) await noteProgress(parts, run.deletion);
      parts.failpoint("target-clean");
    },

    verified({ name }) {
      const times = { ...run.deletion.times[name], verifiedAt: parts.clock() };
      run.deletion = { ...run.deletion, times: { ...run.deletion.times, [name]: times } };
    },
  };
}

/**
 * An earlier request that is open over the same identity erases profiles that this request means too, so this one is complete
 * only after it. Resolves with the requests that wait for this one.
 */
async function expectNoEarlier({ ledger }: RunParts, { requestId, identity, hashes }: Deletion): Promise<string[]> {
  const over = await ledger.openOver(hashes);
  const oldest = over.find((deletion) => deletion.hashes.includes(identity));
  if (oldest !== undefined && oldest.requestId !== requestId) throw new EarlierOpen();
  return over.map((deletion) => deletion.requestId).filter((other) => other !== requestId);
}

class EarlierOpen extends Error {}

/**
 * Notes that the keys are about to be overwritten, the one of the list of identities for remote targets among them. A repeat
 * that read the request before cannot extend it any more; one that reads it now brings a list under a new key. Undefined when
 * the request was extended or completed.
 */
async function noteVerified(parts: RunParts, deletion: Deletion): Promise<Deletion | undefined> {
  const { requestId, revision, targets, done, times } = deletion;
  const hasRemote = parts.targets.some(({ name, remote }) => remote && targets.includes(name));
  if (done.includes("verified") || !hasRemote) return deletion;
  return parts.ledger.extend(requestId, revision, { done: [...done, "verified"], times });
}

/** `before`: attempts that had failed when the run began. A place that was clean in this run, and no longer is, has not ended their row. */
async function noteError(
  parts: RunParts,
  deletion: Deletion,
  before: number,
  { stage, cause }: StageError,
): Promise<void> {
  const { requestId, done } = deletion;
  if (cause instanceof EarlierOpen) {
    return noteWait(parts, { ...deletion, problem: "an earlier request is open" }, WAIT_FOR_EARLIER_MS);
  }
  const attempts = (done.includes(stage) ? before : deletion.attempts) + 1;
  const words = cause instanceof TargetError ? cause.message : `${stage} failed`;
  const failed = { ...deletion, done: done.filter((other) => other !== stage), attempts, problem: words };
  await noteWait(parts, failed, retryDelay(parts.targets, stage, attempts));
  parts.observer.failed(stage);
  parts.log.warn(
    { request: requestId, stage, attempts, stuck: isStuck({ attempts }) },
    "a deletion is tried again later",
  );
}

async function noteWait(parts: RunParts, deletion: Deletion, waitMs: number): Promise<void> {
  await noteProgress(parts, { ...deletion, notBefore: parts.clock() + waitMs });
  parts.wakeUp.hint(deletion.requestId, waitMs);
}

async function noteProgress({ ledger, clock }: RunParts, { requestId, revision, ...deletion }: Deletion) {
  await ledger.note(requestId, revision, { ...deletion, now: clock() });
}
