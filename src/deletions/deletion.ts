import { backoff } from "../async/retry.js";
import type { EntityId } from "../entities/profile/entity.js";
import type { IdentityHash } from "../entities/profile/identity.js";

/**
 * A deletion request as stored in the ledger: the request, the time of its next run, and the identities it suppresses.
 */
export interface Deletion {
  /** 20 lower-case hex characters, `-`, epoch seconds. */
  readonly requestId: string;
  readonly table: string;
  /** Unix ms. Messages of `hashes` that name an event time up to it are dropped. */
  readonly acceptedAt: number;
  /** Profiles to erase; none when no profile had the identity. */
  readonly entities: readonly EntityId[];
  /** The identity in the request, and all known ones of these profiles. All are suppressed. */
  readonly hashes: readonly IdentityHash[];
  /** Sent to remote targets. Undefined without such targets and once the key is overwritten. */
  readonly encryptedIdentities: EncryptedIdentities | undefined;
  /** Names of the downstream targets, fixed at acceptance. */
  readonly targets: readonly string[];
  /** Completed stages: `profile`, then target names, then `verified`. Every stage can be repeated. */
  readonly done: readonly string[];
  /** When each target was last erased, and verified after all were erased, by name. */
  readonly times: Readonly<Record<string, StageTimes>>;
  /** Failed attempts since a stage was last completed for the first time; of a completed one, of its notification. */
  readonly attempts: number;
  /** Cause of the last failure, or the reason for waiting. Contains no personal data. */
  readonly problem: string | undefined;
  /** No process runs the request before this time (Unix ms): its retry time, or the end of its lease. */
  readonly notBefore: number;
  readonly completedAt: number | undefined;
  /** Whether the webhook is notified of the completion; false once it was. */
  readonly notify: boolean;
}

export type CompletedDeletion = Deletion & { readonly completedAt: number };

export function isCompleted(deletion: Deletion): deletion is CompletedDeletion {
  return deletion.completedAt !== undefined;
}

/** A lease ends this long after its last renewal. Clocks of processes differ by less. */
export const LEASE_MS = 8_000;

/** Maximum wait of a request, ms. No `notBefore` is further ahead, unless the clock was set back since. */
export const MAX_WAIT_MS = 15 * 60_000;

const FIRST_DELAY_MS = 250;
const MAX_OWN_DELAY_MS = 30_000;

/**
 * Returns the ms to wait after this many consecutive failures. The delay doubles up to 30 s for our own stores and 15
 * min for a remote target.
 */
export function retryDelay(attempts: number, isRemote: boolean): number {
  return backoff(attempts + 1, FIRST_DELAY_MS, isRemote ? MAX_WAIT_MS : MAX_OWN_DELAY_MS);
}

/** The `problem` of a request that waits for an earlier one over the same identities. */
export const EARLIER_OPEN = "an earlier request is open";

const FIRST_TURN_MS = 1_000;
const MAX_TURN_MS = 15_000;

/**
 * Returns the ms until a request looks again for an earlier one: 1 s at first, then as many as have passed since its
 * acceptance, at most 15 s.
 */
export function turnDelay({ acceptedAt, problem }: Pick<Deletion, "acceptedAt" | "problem">, now: number): number {
  const waitedMs = problem === EARLIER_OPEN ? now - acceptedAt : 0;
  return Math.min(Math.max(waitedMs, FIRST_TURN_MS), MAX_TURN_MS);
}

/** Identities as written, encrypted under a random key used only here. */
export interface EncryptedIdentities {
  /** 32 bytes, overwritten in place before the request is completed. */
  readonly key: Uint8Array;
  readonly bytes: Uint8Array;
}

/** Unix ms. */
export interface StageTimes {
  readonly erasedAt?: number;
  readonly verifiedAt?: number;
}

/** The first stage: the live profile and the identities that lead to it. */
export const PROFILE = "profile";

/** Stages after the targets. A request whose stages are all done is at `complete`. */
export const VERIFIED = "verified";
export const KEY = "key";
const COMPLETE = "complete";

/** The `nextTarget` of a completed request whose notification is pending. */
export const NOTIFICATION = "notification";

/** Names that no target can have. */
export const ownStages: readonly string[] = [PROFILE, VERIFIED, KEY, COMPLETE, NOTIFICATION];

/** Returns the next stage; after a failure, the stage that failed. */
export function stageOf({
  targets,
  done,
  completedAt,
}: Pick<Deletion, "targets" | "done"> & Partial<Pick<Deletion, "completedAt">>): string {
  if (completedAt !== undefined) return COMPLETE;
  return [PROFILE, ...targets, VERIFIED].find((stage) => !done.includes(stage)) ?? KEY;
}

/** Returns the names of the remote targets among these. */
export function remoteNames(targets: readonly { readonly name: string; readonly remote: boolean }[]): string[] {
  return targets.filter(({ remote }) => remote).map(({ name }) => name);
}

/** Returns the remote target that the next stage calls; undefined when it calls none. */
export function nextRemoteTarget(
  deletion: Pick<Deletion, "targets" | "done" | "times">,
  remoteTargets: ReadonlySet<string>,
): string | undefined {
  const stage = stageOf(deletion);
  const isNext = (name: string) => (stage === VERIFIED ? !isVerified(deletion, name) : name === stage);
  return deletion.targets.find((name) => remoteTargets.has(name) && isNext(name));
}

/** Returns whether the target was verified after all targets were erased. */
function isVerified({ times }: Pick<Deletion, "times">, target: string): boolean {
  return times[target]?.verifiedAt !== undefined;
}

/** Returns whether the request keeps failing and needs an operator. */
export function isStuck({ attempts }: Pick<Deletion, "attempts">): boolean {
  return attempts >= STUCK_ATTEMPTS;
}

/** `attempts` from which an open request counts as stuck. */
export const STUCK_ATTEMPTS = 3;
