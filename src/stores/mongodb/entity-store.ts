import type { Db } from "mongodb";
import { type Clock, systemClock } from "../../clock.js";
import type { EntityState, EntityStore } from "../../entities/entity-store.js";
import { type CollectionPlan, findByIds, oneOf } from "./collection.js";
import { erase, fence } from "./entity-fences.js";
import { type EntityRecord, entityRecords, follow, lists } from "./entity-records.js";
import { saveChanges } from "./entity-saves.js";

export const entityCollections: readonly CollectionPlan[] = [
  { name: "entities", indexes: [{ key: { born: -1, _id: 1 }, name: "newest" }] },
  { name: "identities", indexes: [{ key: { entity: 1 }, name: "entity" }] },
];

/**
 * Profiles, and the identities that lead to them as documents of their own, so that one identity has one owner however
 * the collections are spread over a cluster. Any number of processes may use it at once.
 */
export function mongoEntityStore(db: Db, clock: Clock = systemClock): EntityStore {
  const records = entityRecords(db, clock);
  const { entities, identities } = records;

  return {
    async owners(hashes) {
      if (hashes.length === 0) return new Map();
      const pointers = await findByIds(identities, [...new Set(hashes)], { projection: { entity: 1 } });
      const found = await follow(records, new Set(pointers.map(({ entity }) => entity)));
      return new Map(
        pointers.flatMap(({ _id, entity }) => {
          const root = found.root(entity);
          return root !== undefined && lists(root, _id) ? [[_id, root._id] as const] : [];
        }),
      );
    },

    async weigh(hashes) {
      const pointers = await findByIds(identities, [...new Set(hashes)], { projection: { entity: 1 } });
      const ids = [...new Set(pointers.map(({ entity }) => entity))];
      const sized = entities.aggregate<{ _id: string; bytes: number | null }>([
        { $match: { _id: oneOf(ids) } },
        { $project: { bytes: { $binarySize: "$sealed" } } },
      ]);
      const bytes = new Map(ids.length === 0 ? [] : (await sized.toArray()).map((found) => [found._id, found.bytes]));
      return new Map(pointers.map(({ _id, entity }) => [_id, { entity, bytes: bytes.get(entity) ?? 0 }]));
    },

    async load(ids) {
      const found = await follow(records, new Set(ids), {});
      return new Map(
        [...new Set(ids)].flatMap((id) => {
          const state = stateOf(id, found.into(id), found.live(id), found.isDead(id));
          return state === undefined ? [] : [[id, state] as const];
        }),
      );
    },

    save: (changes) => saveChanges(records, changes),

    fence: (ids) => fence(records, ids),

    erase: (ids) => erase(records, ids),

    async holds(ids) {
      if (ids.length === 0) return false;
      const [own, identity] = await Promise.all([
        findByIds(entities, ids, { projection: { state: 1 } }),
        identities.findOne({ entity: oneOf(ids) }, { projection: { _id: 1 } }),
      ]);
      return own.some(({ state }) => state !== "dead") || identity !== null;
    },
  };
}

function stateOf(
  id: string,
  into: string | undefined,
  live: EntityRecord | undefined,
  isDead: boolean,
): EntityState | undefined {
  if (into !== undefined) return { state: "joined", into };
  if (isDead) return { state: "dead" };
  if (live === undefined) return undefined;
  const { table = "", revision, born = 0, bindings = [], joined = [], sealed } = live;
  const bytes = new Uint8Array(sealed?.value() ?? []);
  return { state: "live", entity: { id, table, revision, born, bindings, joined, sealed: bytes } };
}
