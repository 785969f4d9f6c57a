import type { EntityId, StoredEntity } from "./entity.js";
import type { EntityState, EntityStore } from "./entity-store.js";
import type { IdentityHash } from "./identity.js";
import type { Suppression } from "./suppression.js";

export interface EntitySources {
  readonly entities: EntityStore;
  readonly suppression: Suppression;
}

/** What identities and ids lead to. What was erased, or holds what was, leads nowhere. */
export interface FoundEntities {
  /** Every live entity that something leads to. */
  readonly live: readonly StoredEntity[];
  /** The live entity of an identity. */
  ownerOf(hash: IdentityHash): StoredEntity | undefined;
  /** The live entity that an id stands for, or ended in. */
  entityOf(id: EntityId): StoredEntity | undefined;
  /** Whether nothing was ever kept under this id, and it was not erased. */
  isFresh(id: EntityId): boolean;
  /** The id that holds an identity although it leads nowhere. */
  voidOwnerOf(hash: IdentityHash): EntityId | undefined;
  /**
   * Whether an identity is held by a profile that an erasure means and does not name yet. It is about to, and finds the
   * profile by what it holds: until then nobody may take anything from it.
   */
  isAboutToBeErased(hash: IdentityHash): boolean;
  /** Newest cut-off of an identity that was ever asked to be erased. */
  cutOffOf(hash: IdentityHash): number | undefined;
}

/** Joins that follow each other while we look; more than that is a loop. */
const LONGEST_CHAIN = 64;

/**
 * Looks identities and ids up. The ledger is asked after the entities were loaded, so that what was accepted for erasure
 * before the call is always seen, and a save based on what was found fails when a fence came in between.
 */
export async function findEntities(
  { entities, suppression }: EntitySources,
  hashes: readonly IdentityHash[],
  ids: readonly EntityId[],
): Promise<FoundEntities> {
  const owners = await entities.owners(hashes);
  const states = await loadChains(entities, [...owners.values(), ...ids]);
  const live = [...states.values()].flatMap((state) => (state.state === "live" ? [state.entity] : []));
  const suspects = new Set([...ids, ...states.keys(), ...live.flatMap(({ joined }) => joined)]);
  const erased = await suppression.erased([...suspects]);
  const cutOffs = await suppression.cutOffs([
    ...new Set([...hashes, ...live.flatMap(({ bindings }) => bindings.map(({ hash }) => hash))]),
  ]);

  const isUsable = ({ id, joined, bindings }: StoredEntity) =>
    !erased.has(id) &&
    !joined.some((other) => erased.has(other)) &&
    !bindings.some(({ hash, since }) => since <= (cutOffs.get(hash) ?? Number.NEGATIVE_INFINITY));
  const usable = new Map(live.filter(isUsable).map((entity) => [entity.id, entity]));

  const unnamed = new Set(
    live.flatMap(({ id, joined }) => ([id, ...joined].some((named) => erased.has(named)) ? [] : [id])),
  );

  function rootOf(id: EntityId): EntityId {
    let at = id;
    for (let step = 0; step < LONGEST_CHAIN; step += 1) {
      const state = states.get(at);
      if (state?.state !== "joined") return at;
      at = state.into;
    }
    return at;
  }

  const entityOf = (id: EntityId) => (erased.has(id) ? undefined : usable.get(rootOf(id)));

  const ownerOf = (hash: IdentityHash) => {
    const owner = owners.get(hash);
    return owner === undefined ? undefined : entityOf(owner);
  };

  return {
    live: [...usable.values()],
    ownerOf,
    entityOf,
    isFresh: (id) => !states.has(id) && !erased.has(id),
    voidOwnerOf: (hash) => (ownerOf(hash) === undefined ? owners.get(hash) : undefined),
    isAboutToBeErased(hash) {
      const owner = owners.get(hash);
      return owner !== undefined && ownerOf(hash) === undefined && unnamed.has(rootOf(owner));
    },
    cutOffOf: (hash) => cutOffs.get(hash),
  };
}

/** States of the ids and of everything that they were joined into. */
async function loadChains(entities: EntityStore, ids: readonly EntityId[]): Promise<Map<EntityId, EntityState>> {
  const states = new Map<EntityId, EntityState>();
  let next = new Set(ids);
  for (let step = 0; next.size > 0 && step < LONGEST_CHAIN; step += 1) {
    const loaded = await entities.load([...next]);
    next = new Set();
    for (const [id, state] of loaded) {
      states.set(id, state);
      if (state.state === "joined" && !states.has(state.into)) next.add(state.into);
    }
  }
  return states;
}
