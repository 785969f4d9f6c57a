import type { EntityId } from "../entities/entity.js";
import type { IdentityHash } from "../entities/identity.js";

/** A deletion request as the ledger keeps it: event, outbox and suppression in one record. */
export interface Deletion {
  /** 20 lower-case hex characters, `-`, epoch seconds. */
  readonly requestId: string;
  readonly table: string;
  /** The identity that was asked for. */
  readonly identity: IdentityHash;
  readonly acceptedAt: number;
  /** Messages of `identity` not after this instant (Unix ms) are dropped. Only goes up. */
  readonly cutOff: number;
  /** What is erased. Only grows. */
  readonly entities: readonly EntityId[];
  /** Every identity known of them, each suppressed since it was added, with the cut-off of that instant. Only grows. */
  readonly hashes: readonly IdentityHash[];
  /** One of `entities`, made for this request alone: its key seals `sealedIdentities` and dies with the request. */
  readonly sealer: EntityId;
  /** Identities as written, for remote targets. Empty once completed. */
  readonly sealedIdentities: Uint8Array;
  /** Names of the downstream targets, fixed at acceptance. */
  readonly targets: readonly string[];
  /** Stages that are done: `profile`, then target names, then `verified`, `key`. Every stage can be repeated. */
  readonly done: readonly string[];
  /** When each target was last erased and verified, by name. */
  readonly times: Readonly<Record<string, StageTimes>>;
  /** Failed attempts since the last progress. */
  readonly attempts: number;
  /** What the last attempt failed at and why, or what the request waits for, in words that name no person. */
  readonly problem: string | undefined;
  /** Unix ms before which it is not tried again. */
  readonly notBefore: number;
  /** Goes up with each extension and repeat. */
  readonly revision: number;
  readonly completedAt: number | undefined;
}

/** Unix ms. */
export interface StageTimes {
  readonly erasedAt?: number;
  readonly verifiedAt?: number;
}

/** A list of identities, with the key of its own that the ledger keeps together with it. */
export interface SealedList extends Pick<Deletion, "sealer" | "sealedIdentities"> {
  readonly sealerKey: Uint8Array;
}

/** The first stage, before the targets: the live profile and the identities that lead to it. */
export const PROFILE = "profile";

/** Stages after the targets; a request whose stages are all done is at `complete`. */
const LAST_STAGES = ["verified", "key"];
const COMPLETE = "complete";

/** Names of stages that no target can have. */
export const ownStages: readonly string[] = [PROFILE, ...LAST_STAGES, COMPLETE];

/** The stage that a request is at: what an open one waits for when an attempt has failed. */
export function stageOf({
  targets,
  done,
  completedAt,
}: Pick<Deletion, "targets" | "done"> & Partial<Pick<Deletion, "completedAt">>): string {
  if (completedAt !== undefined) return COMPLETE;
  return [PROFILE, ...targets, ...LAST_STAGES].find((stage) => !done.includes(stage)) ?? COMPLETE;
}

/** The ids that downstream targets can have data under: the sealer's id has nothing but a key, and identities that led to no profile. */
export function dataIdsOf({ entities, sealer }: Pick<Deletion, "entities" | "sealer">): EntityId[] {
  return entities.filter((id) => id !== sealer);
}

/** Whether it keeps failing, so that an operator should look at it. */
export function isStuck({ attempts }: Pick<Deletion, "attempts">): boolean {
  return attempts >= STUCK_ATTEMPTS;
}

/** Failed attempts in a row after which an open request counts as stuck. */
export const STUCK_ATTEMPTS = 3;
