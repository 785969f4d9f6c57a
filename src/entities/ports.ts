import type { Binding, EntityId, StoredEntity } from "./profile/entity.js";
import type { IdentityHash } from "./profile/identity.js";

/** Memory that a statement about a segment takes, by estimate, for `FindOptions.maxBytes`. */
export const STATEMENT_BYTES = 100;

/** One profile's next state. */
export interface ProfileChange {
  /** What to keep; its `revision` is that of the state it was made from (0: it is new). */
  readonly entity: StoredEntity;
  /** Segments whose statement in `entity.memberships` is a new one. */
  readonly changedSegments: ReadonlySet<string>;
  /** The ones of `entity.bindings` that are new to it, or begin earlier than before. */
  readonly changedBindings: readonly Binding[];
  /** Live profiles that are merged into this one, with the revisions they were read at. */
  readonly mergedFrom: readonly { readonly id: EntityId; readonly revision: number }[];
}

/** Messages, and everything that they change. */
export interface Commit {
  readonly messages: readonly HistoryMessage[];
  readonly profiles: readonly ProfileChange[];
  /** Keys of the profiles that are new, by id. */
  readonly keys: ReadonlyMap<EntityId, Uint8Array>;
  /** Who held each identity that the messages name when the plan was made; undefined: no entity did. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId | undefined>;
  /** The newest cut-off of each identity that the messages name, as the plan was made with it; absent: there was none. */
  readonly cutOffs: ReadonlyMap<IdentityHash, number>;
  /** Segments that the messages name; the catalogue gets the ones that it does not know, with their id as name. */
  readonly segments: readonly { readonly id: string; readonly table: string }[];
}

/** What identities lead to. */
export interface FoundEntities {
  /** The id that each identity leads to; unknown ones are absent. The profile may be erased by now, or about to be. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId>;
  /** The live profiles among them, by id. One that an accepted deletion names is absent. */
  readonly profiles: ReadonlyMap<EntityId, StoredEntity>;
  /** Whether the profiles take more than `maxBytes`: then `profiles` is empty. */
  readonly isTooLarge: boolean;
}

export interface FindOptions {
  /** Called with the ids before their profiles are read, so that related records can be read at the same time. */
  expect?(ids: readonly EntityId[]): void;
  /** Bytes of sealed documents, and `STATEMENT_BYTES` a statement, of all profiles that are read; no limit when absent. */
  readonly maxBytes?: number;
}

/** PORT. Live profiles with the identities that lead to them, and the one way in which messages change them. Rejects as every store does: see `ServiceErrorOf`. */
export interface EntityStore {
  /**
   * Who holds each identity, and the live profiles among them. An identity whose profile is merged into another one at the same time may
   * be found with its earlier id and no profile. With `maxBytes` reading ends at that limit.
   */
  find(hashes: readonly IdentityHash[], options?: FindOptions): Promise<FoundEntities>;

  /**
   * The live profiles of these ids. One that an accepted deletion names is absent, as is one that was merged into another, and so are statements
   * that the deletion of their segment voids (see `isVoid`).
   */
  load(ids: readonly EntityId[]): Promise<Map<EntityId, StoredEntity>>;

  /**
   * Keeps all of it or nothing: messages in the history, each counted once for its stream in the slot of its event time;
   * profiles with their identities, memberships and keys; segments. Profiles of `mergedFrom` are gone, their identities lead to the
   * one that they were merged into. Void statements are left out (see `validCommit`). False, with nothing kept, when something is not as the plan found it: a revision, who holds an
   * identity, a cut-off, a deletion accepted since, or a message of one of these ids that is kept already. Resolves when it survives a crash.
   */
  commit(commit: Commit): Promise<boolean>;

  /** Removes the profiles, their memberships, and every identity that leads to these ids. A call that rejects may have removed a part. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;

  /** Whether a profile of these ids, or an identity that leads to one, is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}

/**
 * PORT. One AES-256 key an entity: 32 random bytes in a record of one size. `EntityStore.commit` adds it with the profile that is sealed under it. Only
 * `sealed` reads them. Rejects as every store does: see `ServiceErrorOf`.
 */
export interface EntityKeys {
  /** The key of each id, 32 bytes; absent where there is none, or it was destroyed. Rejects when one was wrapped under another pepper, where keys are kept wrapped. */
  read(ids: readonly EntityId[]): Promise<Map<EntityId, Uint8Array>>;
  /**
   * Overwrites the keys in place. Resolves when no file of the store holds a byte of them any more (journal included);
   * rejects, with an error that is neither `unavailable` nor `out-of-space`, when that cannot be confirmed yet. Ids without a key are
   * left out. Safe to repeat.
   */
  destroy(ids: readonly EntityId[]): Promise<void>;
  /** Which of these ids had a key that was destroyed. */
  destroyed(ids: readonly EntityId[]): Promise<Set<EntityId>>;
}

/** A message as the archive keeps it. */
export interface HistoryMessage {
  /** 32 lower-case hex characters. */
  readonly id: string;
  readonly table: string;
  readonly stream: string;
  /** The entity it is for; its key seals `sealed`. */
  readonly entity: EntityId;
  /** Event time, Unix ms. */
  readonly time: number;
  readonly arrival: number;
  readonly position: number;
  readonly sealed: Uint8Array;
}

/** When a message arrived: two processes may give the same place to two messages. */
export type Place = Pick<HistoryMessage, "arrival" | "position">;

/**
 * PORT. The archive of messages. `EntityStore.commit` adds to it. What was counted for a stream stays counted. Rejects as every store does:
 * see `ServiceErrorOf`.
 */
export interface History {
  /** Which of these messages are kept, or were until they were erased or expired. */
  kept(ids: readonly string[]): Promise<Set<string>>;
  /** Removes every message of these entities. A call that rejects may have removed a part. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether any message of these entities is kept. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
  /** The newest arrival of the messages of these entities that are kept; undefined: there is none. */
  newestArrival(entities: readonly EntityId[]): Promise<number | undefined>;
  /** How many messages of these entities are kept of each stream; a stream without any is absent. */
  countByStream(entities: readonly EntityId[]): Promise<Map<string, number>>;
  /** Messages of one entity in the order of arrival, position and id, after one of them, at most `limit`. */
  page(
    entity: EntityId,
    after: (Place & Pick<HistoryMessage, "id">) | undefined,
    limit: number,
  ): Promise<HistoryMessage[]>;
  /** Messages of these entities at these places; messages that are not kept any more are left out. */
  at(
    entities: readonly EntityId[],
    places: readonly Place[],
  ): Promise<(Place & Pick<HistoryMessage, "stream" | "time">)[]>;
  /**
   * Removes messages that arrived before `before` (Unix ms; retention), about a thousand in one call, so that a stop need not wait for all of them. True
   * when more may be left. A call that rejects may have removed a part. Safe to repeat.
   */
  expire(before: number): Promise<boolean>;
}

/** PORT. Who is in which segment, as the profiles say. Holds ids and times only, nothing personal. Rejects as every store does: see `ServiceErrorOf`. */
export interface MembershipIndex {
  /** Number of members of each of these segments, in the order asked; 0 of one that is not known. */
  sizes(segments: readonly string[]): Promise<number[]>;
  /** How many profiles are members of both. */
  overlap(a: string, b: string): Promise<number>;
  /**
   * Ids of profiles that are members, in their order, after the id `after`, at most `limit`. A profile that an accepted deletion names may be among them,
   * and one whose statement is void.
   * A page costs the same wherever it begins, and however many profiles are not members.
   */
  members(segment: string, after: EntityId | undefined, limit: number): Promise<EntityId[]>;
  /** Forgets everything about these entities. A call that rejects may have forgotten a part. Safe to repeat. */
  erase(entities: readonly EntityId[]): Promise<void>;
  /** Whether anything is kept about any of these entities. */
  holds(entities: readonly EntityId[]): Promise<boolean>;
}

/** PORT. What was erased, so that no late message brings it back. Each call sees every deletion that was accepted before it. Rejects as every store does: see `ServiceErrorOf`. */
export interface Suppression {
  /** The newest cut-off (Unix ms) of each identity that was ever asked to be erased; the others are absent. */
  cutOffs(hashes: readonly IdentityHash[]): Promise<Map<IdentityHash, number>>;
  /** Which of these entities an accepted deletion names. */
  erased(ids: readonly EntityId[]): Promise<Set<EntityId>>;
}

/** A request that carried an `Idempotency-Key`. Nothing of the key or of the messages can be read from it. */
export interface IdempotentRequest {
  /** Keyed hash (HMAC under the pepper) of the API key id, path, query and idempotency key, hex. */
  readonly id: string;
  /** First arrival, Unix ms: messages that name no event time keep it when the request is repeated. */
  readonly arrival: number;
  /** Running keyed hash over the first messages of the body while `tally` is empty, over all of them later; hex. */
  readonly digest: string;
  /** Counts, and issues by position, of the response; empty until the whole request was processed. JSON, nothing of the input in it. */
  readonly tally: string;
}

/** PORT. Requests that may be repeated. Rejects as every store does: see `ServiceErrorOf`. */
export interface Idempotency {
  /**
   * Stores the request, unless one of this id is stored that arrived less than 24 h before it. Returns the stored one when it survives a crash: of concurrent
   * calls all return the same.
   */
  begin(request: IdempotentRequest): Promise<IdempotentRequest>;
  /**
   * Stores digest and tally of a request that `begin` returned, unless it has a tally. Returns the stored one when it survives a crash; undefined when it
   * is no longer stored.
   */
  finish(request: IdempotentRequest): Promise<IdempotentRequest | undefined>;
  /** Removes requests that arrived 24 h before `now` (Unix ms) or earlier. Safe to repeat. */
  forget(now: number): Promise<void>;
}

/** PORT. What the catalogue knows of segments. Rejects as `CatalogueStore` does. */
export interface SegmentNames {
  /** The name of each id; ids that the catalogue does not know are absent. */
  names(ids: readonly string[]): Promise<Map<string, string>>;
}
