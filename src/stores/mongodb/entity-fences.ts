import type { EntityId } from "../../entities/entity.js";
import { duplicatesOf, oneOf } from "./collection.js";
import { CONTENT, finishJoin, isJoining, resolveJoin } from "./entity-joins.js";
import { type EntityRecord, type EntityRecords, readHeads } from "./entity-records.js";

/** See `EntityStore.fence`. */
export async function fence(records: EntityRecords, ids: Iterable<EntityId>): Promise<void> {
  await settle(
    records,
    ids,
    async ({ _id, state, into }, live) => {
      if (state === "live") live.push(_id);
      return state === "joined" ? into : undefined;
    },
    (live) =>
      records.entities.updateMany(
        { _id: oneOf(live), state: "live", joining: { $exists: false } },
        { $inc: { revision: 1 } },
      ),
  );
}

/**
 * See `EntityStore.erase`. A join under way is decided first, so that it cannot carry anything out of an erased entity
 * afterwards. What had ended in it stays noted: random ids, which tell a join that was committed that it was.
 */
export async function erase(records: EntityRecords, ids: readonly EntityId[]): Promise<void> {
  await settle(
    records,
    ids,
    async ({ _id, state, absorbing = [] }, left) => {
      if (absorbing.length > 0) await finishJoin(records, _id, absorbing);
      if (state !== "dead") left.push(_id);
      return undefined;
    },
    (left) =>
      records.entities.updateMany(
        { _id: oneOf(left), joining: { $exists: false } },
        { $set: { state: "dead" }, $unset: { ...CONTENT, born: "", into: "" } },
      ),
  );
  const dead = await readHeads(records, ids, { joined: 1 });
  const ended = new Set([...ids, ...[...dead.values()].flatMap(({ joined = [] }) => joined)]);
  if (ended.size > 0) await records.identities.deleteMany({ entity: oneOf([...ended]) });
}

/** Each round but the first few needs somebody who wrote the same entities in that very moment. */
const ROUNDS = 100;

/**
 * Brings each entity where it is to be. Ids never stored become dead, joins under way are decided. `look` puts those that
 * `write` is for into its list, and names another entity that is to be looked at instead.
 */
async function settle(
  records: EntityRecords,
  ids: Iterable<EntityId>,
  look: (record: EntityRecord, due: EntityId[]) => Promise<EntityId | undefined>,
  write: (due: readonly EntityId[]) => Promise<{ readonly matchedCount: number }>,
): Promise<void> {
  let left = new Set(ids);
  for (let round = 0; round < ROUNDS && left.size > 0; round += 1) {
    const found = await readHeads(records, [...left]);
    const next = new Set(
      await bury(
        records,
        [...left].filter((id) => !found.has(id)),
      ),
    );
    const due: EntityId[] = [];
    for (const record of found.values()) {
      if (isJoining(record)) {
        await resolveJoin(records, record);
        next.add(record._id);
        continue;
      }
      const instead = await look(record, due);
      if (instead !== undefined) next.add(instead);
    }
    if (due.length > 0 && (await write(due)).matchedCount < due.length) for (const id of due) next.add(id);
    left = next;
  }
  if (left.size > 0) throw new Error("Entities kept changing while they were fenced off");
}

/** Makes ids dead that were never stored; hands out those that have been stored meanwhile. */
async function bury({ entities }: EntityRecords, ids: readonly EntityId[]): Promise<EntityId[]> {
  if (ids.length === 0) return [];
  try {
    await entities.insertMany(
      ids.map((_id) => ({ _id, state: "dead" as const, revision: 0 })),
      { ordered: false },
    );
    return [];
  } catch (error) {
    const taken = duplicatesOf(error);
    return ids.filter((_, index) => taken.has(index));
  }
}
