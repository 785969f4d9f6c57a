import type { EntityId } from "../../entities/entity.js";
import { isDuplicate, oneOf } from "./collection.js";
import type { EntityRecord, EntityRecords, JoinLock } from "./entity-records.js";

/**
 * Decides a join that somebody has begun and not ended: it is finished when it was committed; else it never will be, and
 * the entity is as it was. Safe to repeat.
 */
export async function resolveJoin(
  records: EntityRecords,
  { _id, joining }: EntityRecord & { readonly joining: JoinLock },
): Promise<void> {
  const { into, token } = joining;
  await bar(records, into);
  const target = await records.entities.findOne({ _id: into }, { projection: { joined: 1 } });
  if (target?.joined?.includes(_id)) await finishJoin(records, into, [_id]);
  else await unlock(records, [_id], token);
}

/** Narrows to one that somebody is joining into another. */
export function isJoining(record: EntityRecord): record is EntityRecord & { readonly joining: JoinLock } {
  return record.joining !== undefined;
}

/**
 * After the commit: what leads to the absorbed leads to the entity, and nothing is left of them but where they ended. The
 * identities go first: whoever finds an id joined may rely on them. Safe to repeat.
 */
export async function finishJoin(
  { entities, identities }: EntityRecords,
  into: EntityId,
  absorbed: readonly EntityId[],
): Promise<void> {
  await identities.updateMany({ entity: oneOf(absorbed) }, { $set: { entity: into } });
  await entities.updateMany(
    { _id: oneOf(absorbed), "joining.into": into },
    { $set: { state: "joined", into }, $unset: { ...CONTENT, joining: "" } },
  );
  await entities.updateOne({ _id: into }, { $pullAll: { absorbing: [...absorbed] } });
}

/** What a live entity has and no other; `born` stays with one that is joined. */
export const CONTENT = { table: "", bindings: "", sealed: "", save: "", absorbing: "" } as const;

/** Takes back what a save locked that did not come to its commit, and never will. Safe to repeat. */
export async function unlock({ entities }: EntityRecords, absorbed: readonly EntityId[], token: string): Promise<void> {
  await entities.deleteMany({ _id: oneOf(absorbed), state: "none", "joining.token": token });
  await entities.updateMany({ _id: oneOf(absorbed), "joining.token": token }, { $unset: { joining: "" } });
}

/** Each round but the first needs somebody who wrote the same entity in that very moment. */
const ROUNDS = 100;

/** Makes every save of this entity fail that was prepared before; what it is stays as it is, never stored becomes dead. */
async function bar({ entities }: EntityRecords, id: EntityId): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = await entities.findOne({ _id: id }, { projection: { state: 1 } });
    if (found === null) {
      if (await inserted(entities.insertOne({ _id: id, state: "dead", revision: 0 }))) return;
      continue;
    }
    const { state } = found;
    if (state === "joined" || state === "dead") return;
    const change = state === "live" ? { $inc: { revision: 1 } } : { $set: { state: "dead" as const } };
    if ((await entities.updateOne({ _id: id, state }, change)).matchedCount > 0) return;
  }
  throw new Error("An entity kept changing while a join was decided");
}

async function inserted(insertion: Promise<unknown>): Promise<boolean> {
  try {
    await insertion;
    return true;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return false;
  }
}
