import type { EntityId, SegmentDeletions, StoredEntity, Turn } from "./profile/entity.js";
import type { IdentityHash } from "./profile/identity.js";

/** Maximum bytes of the profiles that one read returns: see `EntityStore.load`. */
export const PAGE_BYTES = 1_048_576;

/**
 * Position of a deletion in the order of acceptance; a later one is greater as text. The store assigns it, so it does
 * not depend on the clocks of processes.
 */
export type LedgerPosition = string;

/** The newest deletion of an identity. */
export interface CutOff {
  /** Unix ms. Compared only with the event times that messages name. */
  readonly time: number;
  /** Differs between any two deletions of the identity. */
  readonly position: LedgerPosition;
}

/** The next state of one profile. */
export interface ProfileChange {
  /** The state to store. Its `revision` is the revision of the state it is based on (0: new). */
  readonly entity: StoredEntity;
  /** Segments with a new update in `entity.memberships`. */
  readonly changedSegments: ReadonlySet<string>;
  /** Segments that the person joins or leaves, or that a profile of `mergedFrom` was in. */
  readonly turns: readonly Turn[];
  /** Hashes in `entity.hashes` that the stored state does not have. */
  readonly addedHashes: ReadonlySet<IdentityHash>;
  /** Live profiles merged into this one, with the revisions they were read at. */
  readonly mergedFrom: readonly { readonly id: EntityId; readonly revision: number }[];
}

/** Messages and all their changes. */
export interface Commit {
  readonly messages: readonly HistoryMessage[];
  /** Ids of messages that must never be stored again, also after they are erased or expired. */
  readonly lastingIds: readonly string[];
  /** Ids of messages that do not count for their streams. */
  readonly uncounted: ReadonlySet<string>;
  readonly profiles: readonly ProfileChange[];
  /** Keys of new profiles, by id. */
  readonly keys: ReadonlyMap<EntityId, Uint8Array>;
  /** Owner of each identity in the messages at planning time; undefined: no entity. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** Newest deletion of each identity in the messages at planning time; absent: none. */
  readonly cutOffs: ReadonlyMap<IdentityHash, CutOff>;
  /** `SegmentDeletions.newest` at planning time. */
  readonly generation: number;
  /** Time of the turns, Unix ms. */
  readonly at: number;
  /** Segments in the messages. The catalogue adds unknown ones with their id as name. */
  readonly segments: readonly { readonly id: string; readonly table: string }[];
}

/** Profiles that fit into one read. */
export interface LoadedEntities {
  /** Live profiles by id, in the order of their ids. */
  readonly profiles: ReadonlyMap<EntityId, StoredEntity>;
  /** Ids of the profiles that remain to be loaded; empty when all fit. */
  readonly left: readonly EntityId[];
}

/** A profile about which rules must be decided again at `due`, Unix ms. */
export interface DueProfile {
  readonly id: EntityId;
  readonly due: number;
}

/** Result of looking up identities: `profiles` has the live profiles among the owners. */
export interface FoundEntities extends LoadedEntities {
  /** Owner of each known identity. An accepted deletion may cover the owner, or may already have erased it. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId>;
  /** Deletions of the requested segments, not older than the profiles; empty without `segments`. */
  readonly deletions: SegmentDeletions;
}

/**
 * PORT. Live profiles with their identities, and the only way in which messages change them. Rejects as every store
 * does: see `ToServiceError`.
 */
export interface EntityStore {
  /**
   * Returns the owner of each identity, and their profiles as `load` does. During a concurrent merge an identity may be
   * returned with its earlier owner and without a profile. `segments` requests the deletions of these segments.
   */
  find(hashes: readonly IdentityHash[], maxBytes?: number, segments?: readonly string[]): Promise<FoundEntities>;

  /**
   * Returns the live profiles with these ids, in the order of the ids: all of them if they fit into `maxBytes`
   * (`PAGE_BYTES` if absent), otherwise the first ones that fit, at least one. Each counts the bytes of its encrypted
   * document and `UPDATE_BYTES` per update. Omits profiles that an accepted deletion covers or that were merged
   * into another, and void updates (see `validMemberships`).
   */
  load(ids: readonly EntityId[], maxBytes?: number): Promise<LoadedEntities>;

  /**
   * Returns at most `limit` ids of stored profiles after the id `after`, in order, also of ones that `load` omits;
   * with `table` only of its profiles.
   */
  idsAfter(after: EntityId | undefined, limit: number, table?: string): Promise<EntityId[]>;

  /** Counts the stored profiles of the table. */
  count(table: string): Promise<number>;

  /**
   * Returns at most `limit` stored profiles that are due at `now` (Unix ms), the longest due first, in the order of
   * `due` and id; only those after `after` in that order. They may include ones that `load` omits.
   */
  dueAfter(now: number, after: DueProfile | undefined, limit: number): Promise<DueProfile[]>;

  /**
   * Stores the whole commit or nothing: messages in the history, each but the `uncounted` ones counted once for its
   * stream in the slot of its event time; lasting ids; profiles with their identities, memberships and keys; segments;
   * the turns of the profiles, counted in the slot of `at`. Removes the profiles of `mergedFrom` and
   * moves their identities to the merged profile. Resolves with true when the commit survives a crash. Resolves with
   * false, and stores nothing, when the plan is outdated: a revision or an owner has changed, a deletion was accepted
   * since, a segment was deleted or a rule changed since, or a message with one of these ids is already stored or, if
   * the id is lasting, was stored before.
   */
  commit(commit: Commit): Promise<boolean>;

  /**
   * Removes the profiles, their memberships and all identities of these ids. A rejected call may have removed some.
   * Safe to repeat.
   */
  erase(ids: readonly EntityId[]): Promise<void>;

  /** Returns whether a profile with one of these ids, or an identity of one, is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}

/** An entity that ever had a key. */
export interface ListedKey {
  readonly id: EntityId;
  readonly isDestroyed: boolean;
}

/**
 * PORT. One AES-256 key per entity: 32 random bytes in a record of fixed size. `EntityStore.commit` adds it with the
 * profile that it encrypts. Only `encryption` reads keys. Rejects as every store does: see `ToServiceError`.
 */
export interface EntityKeys {
  /**
   * Returns the 32-byte key of each id; absent when there is none or it was destroyed. Rejects when keys are stored
   * wrapped and one is wrapped under another pepper.
   */
  read(ids: readonly EntityId[]): Promise<Map<EntityId, Uint8Array>>;
  /**
   * Overwrites the keys in place. Resolves when no file of the store, including its journal, contains a byte of them.
   * Rejects, with an error that is neither `unavailable` nor `out-of-space`, when that cannot be confirmed yet. Skips
   * ids without a key. Safe to repeat.
   */
  destroy(ids: readonly EntityId[]): Promise<void>;
  /** Returns the ids whose key was destroyed. */
  destroyed(ids: readonly EntityId[]): Promise<Set<EntityId>>;
  /**
   * Returns ids after `after`, in order, that ever had a key, and whether it was destroyed: `limit` of them, fewer only
   * at the end.
   */
  list(after: EntityId, limit: number): Promise<ListedKey[]>;
}

/** A message as stored in the archive. */
export interface HistoryMessage {
  /** 32 lower-case hex characters. */
  readonly id: string;
  readonly table: string;
  readonly stream: string;
  /** The entity of the message; its key encrypts `sealed`. */
  readonly entity: EntityId;
  /** Event time, Unix ms. */
  readonly time: number;
  readonly arrival: number;
  readonly position: number;
  readonly sealed: Uint8Array;
}

/** Place of a message in the order of arrival. Two processes may give two messages the same place. */
export type Place = Pick<HistoryMessage, "arrival" | "position">;

/**
 * PORT. The archive of messages. `EntityStore.commit` adds to it. Counts of a stream never decrease. Rejects as every
 * store does: see `ToServiceError`.
 */
export interface History {
  /** Returns the ids of messages that are stored, and the lasting ones of messages that were erased or expired. */
  storedIds(ids: readonly string[]): Promise<Set<string>>;
  /** Removes all messages of these entities. A rejected call may have removed some. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Returns whether any message of these entities is stored. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
  /** Counts the stored messages of these entities by stream; streams without messages are absent. */
  countByStream(entities: readonly EntityId[]): Promise<Map<string, number>>;
  /** Returns at most `limit` messages of these entities after `after`, in order of arrival, position and id. */
  page(
    entities: readonly EntityId[],
    after: (Place & Pick<HistoryMessage, "id">) | undefined,
    limit: number,
  ): Promise<HistoryMessage[]>;
  /** Returns the messages of these entities at these places that are still stored. */
  at(
    entities: readonly EntityId[],
    places: readonly Place[],
  ): Promise<(Place & Pick<HistoryMessage, "stream" | "time">)[]>;
  /**
   * Removes messages that arrived before `before` (Unix ms; retention), about 1,000 per call, so that a stop does not
   * wait for all of them. Resolves with true when more may be left. A rejected call may have removed some. Safe to
   * repeat.
   */
  expire(before: number): Promise<boolean>;
}

/**
 * PORT. Index of segment members, derived from the profiles. Stores only ids and times, no personal data. From the
 * acceptance of its deletion on, a profile is no member. Rejects as every store does: see `ToServiceError`.
 */
export interface MembershipIndex {
  /** Returns the number of members of each segment, in the given order; 0 for an unknown segment. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** Counts the profiles that are members of both segments. */
  overlap(a: string, b: string): Promise<number>;
  /**
   * Returns the ids of at most `limit` members after the id `after`, in order. They may include a profile whose
   * update is void. The cost of a page depends neither on its position nor
   * on the number of other profiles.
   */
  members(segment: string, after: EntityId | undefined, limit: number): Promise<EntityId[]>;
  /** Removes all data about these entities. A rejected call may have removed some. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Returns whether any data about these entities is stored. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
}

/**
 * PORT. Records of deletions that keep late messages from restoring erased profiles. Each call sees every deletion
 * accepted before it. Rejects as every store does: see `ToServiceError`.
 */
export interface Suppression {
  /**
   * Returns the newest deletion of each identity that was ever deleted, with the latest time of its deletions; other
   * identities are absent. Contains every deletion that was answered before the call.
   */
  cutOffs(hashes: readonly IdentityHash[]): Promise<Map<IdentityHash, CutOff>>;
  /** Returns the entities that an accepted deletion covers. */
  erased(ids: readonly EntityId[]): Promise<Set<EntityId>>;
}

/** A request with an `Idempotency-Key`. Neither the key nor the items can be recovered from it. */
export interface IdempotentRequest {
  /** Keyed hash (HMAC with the pepper) of the API key id, path, query and idempotency key, hex. */
  readonly id: string;
  /** First arrival, Unix ms. Messages without an event time keep it when the request is repeated. */
  readonly arrival: number;
  /**
   * Position of the ledger at the first arrival: greater than or equal to the position of every deletion whose
   * acceptance had resolved before, and less than the position of every deletion that is accepted after a message of
   * the request was stored.
   */
  readonly began: LedgerPosition;
  /** Keyed hash of the first items of the body while `tally` is empty, later of all of them; hex. */
  readonly digest: string;
  /**
   * Counts, and issues by position, of the response; empty until the whole request is processed. JSON without any input
   * data.
   */
  readonly tally: string;
}

/** The store adds the position. */
export type NewIdempotentRequest = Omit<IdempotentRequest, "began">;

/** Time after its arrival for which a request is remembered, ms. */
export const REMEMBERED_MS = 24 * 3_600_000;

/** PORT. Requests with an idempotency key. Rejects as every store does: see `ToServiceError`. */
export interface Idempotency {
  /**
   * Stores the request, unless a request with this id arrived less than `REMEMBERED_MS` before it. Returns the stored
   * one when it survives a crash, and whether this call has stored it; concurrent calls all return the same request.
   */
  begin(request: NewIdempotentRequest): Promise<{ readonly stored: IdempotentRequest; readonly isFirst: boolean }>;
  /**
   * Stores digest and tally of a request that `begin` returned, unless it has a tally. Returns the stored one when it
   * survives a crash; undefined when it is no longer stored.
   */
  finish(request: NewIdempotentRequest): Promise<IdempotentRequest | undefined>;
  /**
   * Removes requests that arrived `REMEMBERED_MS` before `now` (Unix ms) or earlier. Resolves with true when more may
   * be left. Safe to repeat.
   */
  forget(now: number): Promise<boolean>;
}
