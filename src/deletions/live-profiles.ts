import type { EntityId, StoredEntity } from "../entities/entity.js";
import type { EntityStore } from "../entities/entity-store.js";

/** Joins follow each other at most this far: each one halves nothing, but a chain is as long as the joins made while we look. */
const LONGEST_CHAIN = 64;

/** The live profiles that these ids stand for, each once; a joined id stands for the one that it ended in. */
export async function liveProfiles(store: EntityStore, ids: Iterable<EntityId>): Promise<StoredEntity[]> {
  const live = new Map<EntityId, StoredEntity>();
  let next = new Set(ids);
  for (let step = 0; next.size > 0 && step < LONGEST_CHAIN; step += 1) {
    const states = await store.load([...next]);
    next = new Set();
    for (const [id, found] of states) {
      if (found.state === "live") live.set(id, found.entity);
      if (found.state === "joined" && !live.has(found.into)) next.add(found.into);
    }
  }
  return [...live.values()];
}
