import type { IdentityHash } from "./identity.js";

/** 32 lower-case hex characters, random, never used twice and never personal. */
export type EntityId = string;

/** Orders statements: newest event time wins, then the later arrival, then the later position in its request. */
export interface Version {
  /** Event time, Unix ms; the arrival where the message names none. */
  readonly time: number;
  /** Arrival time (see `clock.monotonicClock`). */
  readonly arrival: number;
  readonly position: number;
}

/** Below zero when `a` is older than `b`. */
export function compareVersions(a: Version, b: Version): number {
  return a.time - b.time || a.arrival - b.arrival || a.position - b.position;
}

/** That an identity belongs to an entity, since the oldest event (Unix ms) that said so. */
export interface Binding {
  readonly hash: IdentityHash;
  readonly since: number;
}

/** The newest thing that was said of an entity and a segment. */
export interface MembershipStatement extends Version {
  readonly member: boolean;
}

/** Everything that is known of an entity's segments. */
export interface Memberships {
  /** Version of the newest full list; a segment that an older statement names is left since then. */
  readonly fullSince: Version | undefined;
  /** By segment id; segments that the entity left included, so that an older message cannot bring them back. */
  readonly statements: ReadonlyMap<string, MembershipStatement>;
}

/** An entity as it is kept: nothing personal outside `sealed`. */
export interface StoredEntity {
  readonly id: EntityId;
  readonly table: string;
  /** 0 for one that is not stored yet; goes up with each commit. */
  readonly revision: number;
  /** Arrival that created it: of entities that are merged, the oldest stays. */
  readonly born: number;
  readonly bindings: readonly Binding[];
  /** Ids that were merged into it, also indirectly. Messages stay under the id that they were kept for. */
  readonly mergedIds: readonly EntityId[];
  readonly memberships: Memberships;
  /** Attributes and identities as written, sealed under the entity's key (see `sealed`). */
  readonly sealed: Uint8Array;
}

/** Every id that a profile's data stands under: its own, and the ids of profiles that were merged into it. */
export function idsOf({ id, mergedIds }: Pick<StoredEntity, "id" | "mergedIds">): EntityId[] {
  return [id, ...mergedIds];
}
