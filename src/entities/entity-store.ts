import type { EntityId, StoredEntity } from "./entity.js";
import type { IdentityHash } from "./identity.js";

/** What an id stands for: a live entity, one that was joined into another, one that was erased or fenced off. */
export type EntityState =
  | { readonly state: "live"; readonly entity: StoredEntity }
  | { readonly state: "joined"; readonly into: EntityId }
  | { readonly state: "dead" };

/** One entity's next state. */
export interface EntityChange {
  /** What to keep; its `revision` is that of the state it was made from (0: the id is not stored yet). */
  readonly entity: StoredEntity;
  /** Live entities that end in this one, with the revisions they were read at; 0: an id that is not stored yet, and ends here from its start. */
  readonly absorbs: readonly { readonly id: EntityId; readonly revision: number }[];
  /** Entities (dead ones) whose hold on an identity in `entity.bindings` is void, and may be taken over. */
  readonly releasedBy: readonly EntityId[];
}

/** PORT. Live profiles and the identities that lead to them. */
export interface EntityStore {
  /** The id that each identity leads to; unknown ones are absent. The id may since be joined or dead. */
  owners(hashes: readonly IdentityHash[]): Promise<Map<IdentityHash, EntityId>>;

  /**
   * The id that each identity leads to, and what loading it would take, bytes; unknown identities are absent. A write at the same time
   * may make both out of date.
   */
  weigh(
    hashes: readonly IdentityHash[],
  ): Promise<Map<IdentityHash, { readonly entity: EntityId; readonly bytes: number }>>;

  /** What each id stands for; ids never stored are absent. */
  load(ids: readonly EntityId[]): Promise<Map<EntityId, EntityState>>;

  /**
   * Keeps each change, all of it or nothing of it, and says for each whether it was kept. It is not when the entity or
   * one that it absorbs has another revision by now, is joined or dead, or when an identity belongs to an entity that is
   * neither this one, nor absorbed, nor in `releasedBy`. Absorbed ids become joined; their identities lead here.
   * Resolves when it survives a crash.
   */
  save(changes: readonly EntityChange[]): Promise<boolean[]>;

  /**
   * Makes every save fail that was prepared before this call for one of these ids: a live entity's revision goes up, an
   * id never stored becomes dead, a joined one stands for what it was joined into. Safe to repeat.
   */
  fence(ids: readonly EntityId[]): Promise<void>;

  /** Removes the entities (live or joined) and every identity that leads to them; the ids are dead for ever. Safe to repeat. */
  erase(ids: readonly EntityId[]): Promise<void>;

  /** Whether anything but the fact that they are dead is stored of any of these ids. */
  holds(ids: readonly EntityId[]): Promise<boolean>;
}
