import type { EntityId, StoredEntity } from "./entity.js";
import type { HistoryMessage } from "./history.js";
import type { IdentityHash } from "./identity.js";

/** What a statement about a segment takes in memory, about, for `EntityStore.weigh`. */
export const STATEMENT_BYTES = 100;

/** One profile's next state. */
export interface ProfileChange {
  /** What to keep; its `revision` is that of the state it was made from (0: it is new). */
  readonly entity: StoredEntity;
  /** Segments whose statement in `entity.memberships` is a new one. */
  readonly changedSegments: ReadonlySet<string>;
  /** Live profiles that are merged into this one, with the revisions they were read at. */
  readonly absorbs: readonly { readonly id: EntityId; readonly revision: number }[];
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
  /** Segments that the messages name; the catalogue gets those that it does not know, with their id as name. */
  readonly segments: readonly { readonly id: string; readonly table: string }[];
}

/** What identities lead to. */
export interface FoundEntities {
  /** The id that each identity leads to; unknown ones are absent. The profile may be erased by now, or about to be. */
  readonly owners: ReadonlyMap<IdentityHash, EntityId>;
  /** The live profiles among them, by id. One that an accepted deletion names is absent. */
  readonly profiles: ReadonlyMap<EntityId, StoredEntity>;
}

/** PORT. Live profiles with the identities that lead to them, and the one way in which messages change them. */
export interface EntityStore {
  /**
   * Who holds each identity, and the live profiles among them, in one round trip. An identity whose profile is merged into another one meanwhile may
   * be found with its earlier id and no profile.
   */
  find(hashes: readonly IdentityHash[]): Promise<FoundEntities>;

  /**
   * The id that each identity leads to, and what loading it would take, bytes; unknown identities are absent. A write at the same time
   * may make both out of date.
   */
  weigh(
    hashes: readonly IdentityHash[],
  ): Promise<Map<IdentityHash, { readonly entity: EntityId; readonly bytes: number }>>;

  /** The live profiles of these ids. One that an accepted deletion names is absent, as is one that was merged into another. */
  load(ids: readonly EntityId[]): Promise<Map<EntityId, StoredEntity>>;

  /**
   * Keeps all of it or nothing: messages in the history, each counted once for its stream in the slot of its event time;
   * profiles with their identities, memberships and keys; segments. Absorbed profiles are gone, their identities lead to the
   * one that absorbed them. False, with nothing kept, when something is not as the plan found it: a revision, who holds an
   * identity, a cut-off, a deletion accepted since, or a message of one of these ids that is kept already. Resolves when it survives a crash.
   */
  commit(commit: Commit): Promise<boolean>;

  /** Removes the profiles, their memberships, and every identity that leads to these ids. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;

  /** Whether a profile of these ids, or an identity that leads to one, is stored. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}
