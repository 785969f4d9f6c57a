import type { IdentityHash } from "./identity.js";

/** 32 lower-case hex characters, random, never used twice and never personal. */
export type EntityId = string;

/** Orders updates: newest event time wins, then the later arrival, then the later position in its request. */
export interface Version {
  /** Event time, Unix ms; the arrival where the message names none. */
  readonly time: number;
  /** Arrival time (see `clock.monotonicClock`). */
  readonly arrival: number;
  readonly position: number;
}

/** Returns a negative number when `a` is older than `b`. */
export function compareVersions(a: Version, b: Version): number {
  return a.time - b.time || a.arrival - b.arrival || a.position - b.position;
}

/** Returns the event time that the message names; undefined where the arrival is the event time. */
export function namedTime({ time, arrival }: Version): number | undefined {
  return time === arrival ? undefined : time;
}

/** Version of an update of segments. */
export interface UpdateVersion extends Version {
  /** Generation of the newest segment deletion before the update was stored; see `SegmentDeletions`. */
  readonly generation: number;
}

/** The newest update of an entity and a segment. */
export interface MembershipUpdate extends UpdateVersion {
  readonly member: boolean;
}

/** All updates of an entity's segments. */
export interface Memberships {
  /**
   * Version of the newest full list, which ends the older memberships that it omits. It does not concern segments that
   * were deleted after it was stored.
   */
  readonly fullSince: UpdateVersion | undefined;
  /**
   * Updates by segment id, including segments that the entity left, so that an older message cannot restore them.
   */
  readonly updates: ReadonlyMap<string, MembershipUpdate>;
}

/** An update as stores have it. */
export type StoredUpdate = readonly [
  segment: string,
  member: boolean | 0 | 1,
  time: number,
  arrival: number,
  position: number,
  generation: number,
];

export function updatesBySegment(stored: readonly StoredUpdate[]): Memberships["updates"] {
  return new Map(
    stored.map(([segment, member, time, arrival, position, generation]) => [
      segment,
      { member: Boolean(member), time, arrival, position, generation },
    ]),
  );
}

/** A segment that a person is in now, or is no longer in. */
export interface Turn {
  readonly segment: string;
  readonly member: boolean;
  /** Whether the opposite was true before; false after a merge with a profile that was in the segment. */
  readonly isCertain: boolean;
  /** Change of the number of members: 1 if the person joins, -1 for each member who leaves. A merge leaves one. */
  readonly change: number;
}

/** The last deletion of a segment. */
export interface SegmentDeletion {
  /** Greater than every earlier generation. */
  readonly generation: number;
  /** Unix ms. Compared with event times that messages name, and with nothing else. */
  readonly at: number;
}

/** Deletions of segments, as a batch is planned from them. */
export interface SegmentDeletions {
  /**
   * Generation of the newest deletion of any segment, or change of a rule; 0: none. Updates of the batch belong to it.
   */
  readonly newest: number;
  /** The last deletion of each segment, by id; segments that were never deleted are absent. */
  readonly bySegment: ReadonlyMap<string, SegmentDeletion>;
}

export const noSegmentDeletions: SegmentDeletions = { newest: 0, bySegment: new Map() };

/** Returns whether a message of this version names an event time up to the deletion of the segment. */
export function isBeforeDeletion(version: Version, deletion: SegmentDeletion | undefined): boolean {
  const time = namedTime(version);
  return deletion !== undefined && time !== undefined && time <= deletion.at;
}

/**
 * Returns the memberships without void updates, which were stored before the deletion of their segment.
 * `generations` has the generation of each segment's last deletion.
 */
export function validMemberships(memberships: Memberships, generations: ReadonlyMap<string, number>): Memberships {
  if (generations.size === 0) return memberships;
  const valid = [...memberships.updates].filter(
    ([segment, { generation }]) => generation >= (generations.get(segment) ?? 0),
  );
  return { ...memberships, updates: new Map(valid) };
}

/** Returns the ids of the segments that the entity is in, in code unit order. */
export function segmentsIn({ updates }: Memberships): string[] {
  return [...updates].flatMap(([segment, { member }]) => (member ? [segment] : [])).sort();
}

/** An entity as stored. Only `sealed` contains personal data. */
export interface StoredEntity {
  readonly id: EntityId;
  readonly table: string;
  /** 0 before the entity is stored; increases with each commit. */
  readonly revision: number;
  /** Arrival of the first message. A merge keeps the oldest profile. */
  readonly born: number;
  readonly hashes: readonly IdentityHash[];
  /** Ids merged into this profile, directly or indirectly. Messages stay under their original id. */
  readonly mergedIds: readonly EntityId[];
  readonly memberships: Memberships;
  /**
   * When the decisions of rules about the profile must be made again, Unix ms; undefined: no rule changes by time. It
   * may be early, but is never late: see `dueAt`.
   */
  readonly due: number | undefined;
  /** Attributes and identities as written, encrypted under the entity's key (see `encryption`). */
  readonly sealed: Uint8Array;
}

/** Estimated memory of an update of a segment, for the `maxBytes` of `EntityStore.load`. */
export const UPDATE_BYTES = 100;

/** Returns the estimated memory of a stored profile, bytes. */
export function storedBytes({ sealed, memberships }: StoredEntity): number {
  return sealed.length + UPDATE_BYTES * memberships.updates.size;
}

/** Returns every id that a profile's data is stored under: its own and those merged into it. */
export function idsOf({ id, mergedIds }: Pick<StoredEntity, "id" | "mergedIds">): EntityId[] {
  return [id, ...mergedIds];
}
