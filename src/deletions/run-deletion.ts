import { backoff } from "../async/retry.js";
import type { Clock } from "../clock.js";
import type { EntityKeys } from "../entities/entity-keys.js";
import type { EntityStore } from "../entities/entity-store.js";
import type { Failpoint } from "../failpoint.js";
import type { Log } from "../log.js";
import { type Deletion, dataIdsOf, isStuck, stageOf } from "./deletion.js";
import type { DeletionObserver } from "./deletion-observer.js";
import type { DownstreamTarget, ErasureSubject } from "./downstream-target.js";
import type { Ledger } from "./ledger.js";
import type { SealedIdentities } from "./sealed-identities.js";
import { wake, wakeOthers } from "./wake-others.js";
import type { WakeUp } from "./wake-up.js";
import { whileClaimed } from "./while-claimed.js";

export interface RunParts {
  readonly ledger: Ledger;
  readonly entities: Pick<EntityStore, "erase" | "holds">;
  readonly identities: SealedIdentities;
  readonly entityKeys: EntityKeys;
  readonly targets: readonly DownstreamTarget[];
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: DeletionObserver;
  readonly failpoint: Failpoint;
  readonly wakeUp: Pick<WakeUp, "hint">;
  /** A name that no other run has. */
  newRunner(): string;
}

/**
 * Runs an open request as far as it goes: the live profile, each target, a second look at all of them, the keys, done.
 * Each step can be repeated, so a run may stop anywhere, and two may run at once. What fails is noted, and hinted for the next try; so is a
 * request that another runner has, for that runner may die.
 * Resolves with the name of the remote target before which it stopped because the run may not erase there.
 */
export async function runDeletion(parts: RunParts, requestId: string, limits: RunLimits): Promise<string | undefined> {
  const run = async (): Promise<End> => {
    parts.failpoint("K5");
    let end: End;
    do end = await runOnce(parts, requestId, limits);
    while (end === "extended");
    return end;
  };
  const end = await whileClaimed(parts, requestId, parts.newRunner(), run, (reached) => reached === "completed");
  if (end === undefined) await lookLater(parts, requestId);
  return typeof end === "object" ? end.before : undefined;
}

export interface RunLimits {
  /** Whether the run may go on with this remote target. */
  mayErase(target: string): boolean;
  /** Whether a request that waits for a later try is left alone until then. */
  readonly keepsWaits: boolean;
}

/** How soon it is looked whether the runner that has a request has left it open, ms. */
const TAKEN_MS = 2_000;

async function lookLater({ ledger, wakeUp }: RunParts, requestId: string): Promise<void> {
  const taken = await ledger.find(requestId);
  if (taken !== undefined && taken.completedAt === undefined) wakeUp.hint(requestId, TAKEN_MS);
}

/** How a run ended. A request that was extended meanwhile is to be run again; one that is completed has no runner. */
type End = "completed" | "extended" | "left open" | { readonly before: string };

/** A step did not do what it is for; the stage says where to go on. */
class StageError extends Error {
  readonly stage: string;
  readonly deletion: Deletion;

  constructor(stage: string, deletion: Deletion, cause: unknown) {
    super(`${stage} failed`, { cause });
    this.stage = stage;
    this.deletion = deletion;
  }
}

async function runOnce(parts: RunParts, requestId: string, limits: RunLimits): Promise<End> {
  try {
    return await erase(parts, requestId, limits);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    await noteError(parts, error);
    return "left open";
  }
}

async function erase(parts: RunParts, requestId: string, limits: RunLimits): Promise<End> {
  const { ledger, entityKeys, failpoint } = parts;
  const open = await ledger.find(requestId);
  if (open === undefined || open.completedAt !== undefined) return "completed";
  const waitMs = open.notBefore - parts.clock();
  if (limits.keepsWaits && waitMs > 0 && waitMs <= longestWait(parts, open)) {
    parts.wakeUp.hint(requestId, waitMs);
    return "left open";
  }
  failpoint("K6");

  const profileGone = await eraseProfile(parts, open);
  const targetsClean = await eraseTargets(parts, profileGone, limits);
  if ("before" in targetsClean) return targetsClean;
  failpoint("K12");

  if (!targetsClean.done.includes("verified")) await lookAgain(parts, targetsClean);
  const later = await stage("verified", targetsClean, () => expectNoEarlier(parts, open));
  failpoint("K13");
  const closing = await noteVerified(parts, targetsClean);
  if (closing === undefined) return "extended";
  failpoint("K14");

  await stage("key", closing, () => entityKeys.destroy(closing.entities));
  failpoint("K16");
  const at = parts.clock();
  if (!(await ledger.complete(requestId, closing.revision, at))) return "extended";
  await wake(parts, later);
  parts.observer.completed(at - open.acceptedAt);
  parts.log.info({ request: requestId }, "a deletion is complete");
  return "completed";
}

/** Step 1: the live profile and every identity that leads to it. */
async function eraseProfile(parts: RunParts, deletion: Deletion): Promise<Deletion> {
  if (deletion.done.includes("profile")) return deletion;
  await stage("profile", deletion, () => parts.entities.erase(deletion.entities));
  parts.failpoint("K7");
  const noted = await withDone(parts, deletion, "profile");
  parts.failpoint("K8");
  return noted;
}

/** Step 2: each target by itself, erased and looked at; as far as the run may go. */
async function eraseTargets(
  parts: RunParts,
  deletion: Deletion,
  { mayErase }: RunLimits,
): Promise<Deletion | { readonly before: string }> {
  let noted = deletion;
  let isTold = false;
  for (const name of deletion.targets) {
    if (noted.done.includes(name)) continue;
    if (isRemote(parts, name) && !isTold) {
      // A remote target may take long: a caller who asks meanwhile is told that the request waits for it.
      await noteProgress(parts, noted);
      isTold = true;
    }
    if (isRemote(parts, name) && !mayErase(name)) return { before: name };
    parts.failpoint("K9");
    await stage(name, noted, async () => {
      const target = targetOf(parts, name);
      const subject = await subjectFor(target, parts, deletion);
      await target.erase(subject);
      parts.failpoint("K11");
      if (!(await target.verify(subject))) throw new Error("The target is not clean yet");
    });
    if (noted.attempts > 0) await wakeOthers(parts, name, noted.requestId);
    noted = await withDone(parts, noted, name);
  }
  return noted;
}

/** Everything once more, after all of it: what came back while the others were erased is found here. */
async function lookAgain(parts: RunParts, deletion: Deletion): Promise<void> {
  await stage("profile", deletion, async () => {
    if (await parts.entities.holds(deletion.entities)) throw new Error("The profile is not gone");
  });
  for (const name of deletion.targets) {
    await stage(name, deletion, async () => {
      const target = targetOf(parts, name);
      const subject = await subjectFor(target, parts, deletion);
      if (!(await target.verify(subject))) throw new Error("The target is not clean any more");
    });
  }
}

/**
 * Notes that the keys are about to be overwritten, the one of the list of identities for remote targets among them. A repeat
 * that read the request before cannot extend it any more; one that reads it now brings a list under a new key. Undefined when
 * the request was extended or completed.
 */
async function noteVerified(parts: RunParts, deletion: Deletion): Promise<Deletion | undefined> {
  const { requestId, revision, targets, done } = deletion;
  if (done.includes("verified") || !targets.some((name) => isRemote(parts, name))) return deletion;
  return parts.ledger.extend(requestId, revision, { done: [...done, "verified"] });
}

/**
 * An earlier request that is open over the same identity erases what this one's asker means too, so this one is complete
 * only after it. Resolves with those that wait for this one.
 */
async function expectNoEarlier({ ledger }: RunParts, { requestId, identity, hashes }: Deletion): Promise<string[]> {
  const over = await ledger.openOver(hashes);
  const oldest = over.find((deletion) => deletion.hashes.includes(identity));
  if (oldest !== undefined && oldest.requestId !== requestId) throw new EarlierOpen();
  return over.map((deletion) => deletion.requestId).filter((other) => other !== requestId);
}

class EarlierOpen extends Error {}

/** A request that waits for an earlier one is tried again so much later, if it is not woken before, ms. */
const WAIT_MS = 1000;

/** Nothing that fails is told to wait longer, ms: a longer wait means that the clock was set back since, and is over. */
function longestWait(parts: RunParts, deletion: Deletion): number {
  return Math.max(WAIT_MS, retryDelay(parts, stageOf(deletion), deletion.attempts));
}

const FIRST_DELAY_MS = 250;
const LONGEST_OWN_DELAY_MS = 30_000;
const LONGEST_REMOTE_DELAY_MS = 15 * 60_000;

/** Ms to wait after that many failed attempts in a row at a stage: doubling, our own stores at most 30 s, a remote target at most 15 min. */
function retryDelay(parts: RunParts, stage: string, attempts: number): number {
  const longestMs = isRemote(parts, stage) ? LONGEST_REMOTE_DELAY_MS : LONGEST_OWN_DELAY_MS;
  return backoff(attempts + 1, FIRST_DELAY_MS, longestMs);
}

async function stage<T>(name: string, deletion: Deletion, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new StageError(name, deletion, error);
  }
}

function targetOf({ targets }: RunParts, name: string): DownstreamTarget {
  const target = targets.find((candidate) => candidate.name === name);
  if (target === undefined) throw new Error("The target is not configured any more");
  return target;
}

async function subjectFor(
  { remote }: DownstreamTarget,
  { identities }: RunParts,
  deletion: Deletion,
): Promise<ErasureSubject> {
  const { requestId, table, cutOff } = deletion;
  const written = remote ? await identities.open(deletion) : [];
  return { requestId, table, entities: dataIdsOf(deletion), identities: written, cutOff };
}

/**
 * The deletion with one more stage done. It is noted in the ledger where another run should not repeat it, and where it ends
 * a row of failures; what is our own is as quickly done again.
 */
async function withDone(parts: RunParts, deletion: Deletion, name: string): Promise<Deletion> {
  const noted = { ...deletion, done: [...deletion.done, name], attempts: 0, notBefore: 0 };
  if (isRemote(parts, name) || deletion.attempts > 0) await noteProgress(parts, noted);
  return noted;
}

async function noteProgress({ ledger, clock }: RunParts, { requestId, revision, done, attempts, notBefore }: Deletion) {
  await ledger.note(requestId, revision, { done, attempts, notBefore, now: clock() });
}

function isRemote({ targets }: RunParts, name: string): boolean {
  return targets.some((target) => target.name === name && target.remote);
}

async function noteError(parts: RunParts, failure: StageError): Promise<void> {
  const { log, observer } = parts;
  const { deletion, stage: name } = failure;
  if (failure.cause instanceof EarlierOpen) return noteWait(parts, deletion, WAIT_MS);
  const attempts = deletion.attempts + 1;
  const done = deletion.done.filter((stage) => stage !== name);
  await noteWait(parts, { ...deletion, done, attempts }, retryDelay(parts, name, attempts));
  observer.failed(name);
  log.warn(
    { request: deletion.requestId, stage: name, attempts, stuck: isStuck({ attempts }) },
    "a deletion is tried again later",
  );
}

async function noteWait(parts: RunParts, deletion: Deletion, waitMs: number): Promise<void> {
  await noteProgress(parts, { ...deletion, notBefore: parts.clock() + waitMs });
  parts.wakeUp.hint(deletion.requestId, waitMs);
}
