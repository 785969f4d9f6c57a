import type { ClientSession, Collection, Db, Filter } from "mongodb";
import { groupedErasure } from "../../../async/grouped-calls.js";
import {
  deletedRows,
  type Hook,
  type NewOutboxRow,
  type Outbox,
  type OutboxRow,
  outboxChange,
  outboxEntities,
  SEGMENT,
} from "../../../entities/outbox.js";
import type { Commit } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { randomId } from "../../../ids.js";
import { byIds, type CollectionPlan, type InSession } from "../collection.js";
import type { StoreDependencies } from "../connection.js";
import { isDuplicate } from "../errors.js";
import { beginGeneration, newestGeneration } from "./deleted-segments.js";

const OLDEST_FIRST = { hook: 1, generation: 1, at: 1, _id: 1 } as const;

/** At most one change of a person, hook and segment waits, also if two writers add one concurrently. */
export const outboxCollection: CollectionPlan = {
  name: "hook_events",
  indexes: [
    { key: OLDEST_FIRST },
    { key: { entity: 1, hook: 1 } },
    {
      key: { segment: 1, hook: 1, entity: 1 },
      unique: true,
      partialFilterExpression: { state: "waiting", entity: { $gt: "" } },
    },
  ],
};

export interface OutboxDocument extends NewOutboxRow {
  readonly _id: string;
  /** Process whose request has the change, or had it last. */
  readonly claimer?: string;
}

export function outboxOf(db: Db): Collection<OutboxDocument> {
  return db.collection<OutboxDocument>(outboxCollection.name);
}

/** Filter for changes that are not in a request. */
const unsent = { state: { $in: ["waiting", "failed"] as OutboxRow["state"][] } };

/** Stores the changes of a commit in its transaction. */
export async function writeOutbox(
  data: Db,
  hooks: readonly Hook[],
  commit: Commit,
  session: ClientSession,
): Promise<void> {
  const entities = outboxEntities(hooks, commit);
  if (entities.length === 0) return;
  const { removed, added } = outboxChange(hooks, commit, await changesOf(data, entities, { session }));
  if (removed.length > 0) await outboxOf(data).deleteMany(byIds(removed.map(({ id }) => id)), { session });
  await addRows(data, added, session);
}

/** Stores the deletion of a segment in its transaction. */
export function writeDeletedSegment(
  data: Db,
  hooks: readonly Hook[],
  segment: string,
  at: number,
  generation: number,
  session: ClientSession,
): Promise<void> {
  return addRows(data, deletedRows(hooks, segment, at, generation), session);
}

async function addRows(data: Db, rows: readonly NewOutboxRow[], session?: ClientSession): Promise<void> {
  if (rows.length === 0) return;
  const documents = rows.map((row) => ({ _id: randomId(), ...row }));
  await outboxOf(data).insertMany(documents, session === undefined ? { ordered: false } : { session });
}

/** Removes the changes about profiles that are not in a request, as the acceptance of their deletion does. */
export async function eraseUnsent(data: Db, entities: readonly EntityId[], inside: InSession = {}): Promise<void> {
  await outboxOf(data).deleteMany({ entity: { $in: [...entities] }, ...unsent }, inside);
}

/** Returns the changes of these people. */
export async function changesOf(data: Db, entities: readonly EntityId[], inside: InSession = {}): Promise<OutboxRow[]> {
  if (entities.length === 0) return [];
  const ofEntities = { entity: { $in: [...entities] } };
  return (await outboxOf(data).find(ofEntities, inside).toArray()).map(rowOf);
}

/**
 * The outbox, a document for each change. A process ends only its own requests, because another one may have claimed
 * their changes since.
 */
export function mongoOutbox({ data, transact }: Pick<StoreDependencies, "data" | "transact">): Outbox {
  const rows = outboxOf(data);
  const claimer = randomId();
  const found = async (filter: Filter<OutboxDocument>, limit = 0) =>
    (await rows.find(filter, { sort: OLDEST_FIRST, limit }).toArray()).map(rowOf);

  return {
    of: (entities) => changesOf(data, entities),

    page(hook, after, limit) {
      const all = { hook, ...unsent };
      if (after === undefined) return found(all, limit);
      const { generation, at, id } = after;
      const later = [{ generation: { $gt: generation } }, { generation, at: { $gt: at } }];
      return found({ ...all, $or: [...later, { generation, at, _id: { $gt: id } }] }, limit);
    },

    /** In a transaction, so that an acceptance which removes one of the rows conflicts. */
    claim: (ids) =>
      transact(async (session) => {
        const stored = await rows.find({ ...byIds<OutboxDocument>(ids), ...unsent }, { session }).toArray();
        const claimed = stored.map(({ _id }) => _id);
        await rows.updateMany(byIds(claimed), { $set: { state: "sending", claimer } }, { session });
        return new Set(claimed);
      }),

    async release(ids) {
      const own = ids === undefined ? {} : { ...byIds<OutboxDocument>(ids), claimer };
      await rows.updateMany({ ...own, state: "sending" }, { $set: { state: "failed" } });
    },

    async remove(ids) {
      if (ids.length === 0) return;
      await rows.deleteMany({ ...byIds<OutboxDocument>(ids), $nor: [{ state: "sending", claimer: { $ne: claimer } }] });
    },

    async addMembers(joined, members) {
      const { hook, segment } = joined;
      const known = await rows.find({ hook, segment, entity: { $in: [...members] }, state: "waiting" }).toArray();
      const entities = new Set(known.map(({ entity }) => entity));
      const generation = await newestGeneration(data);
      const row = { ...joined, change: "joined", generation, state: "waiting" } as const;
      await addRows(
        data,
        members.flatMap((entity) => (entities.has(entity) ? [] : { ...row, entity })),
      ).catch((error: unknown) => {
        // A change of the person was added since.
        if (!isDuplicate(error)) throw error;
      });
    },

    reset: (hook, segments, at) =>
      transact(async (session) => {
        const generation = await beginGeneration(data, session);
        const about = { hook, entity: SEGMENT, at, generation, change: "reset", state: "waiting" } as const;
        await addRows(
          data,
          segments.map((segment) => ({ ...about, segment, cancels: false })),
          session,
        );
        return generation;
      }),

    async count(hook) {
      const [oldest] = await found({ hook }, 1);
      return { waiting: await rows.countDocuments({ hook }), oldest: oldest?.at };
    },

    async keepOnly(hooks) {
      const others = hooks
        .filter(({ segments }) => !segments.includes("*"))
        .map(({ name, segments }) => ({ hook: name, segment: { $nin: [...segments] } }));
      await rows.deleteMany({ $or: [{ hook: { $nin: hooks.map(({ name }) => name) } }, ...others] });
    },

    ...groupedErasure({
      erase: (entities) => eraseUnsent(data, entities),
      held: (entities) => rows.distinct("entity", { entity: { $in: [...entities] }, ...unsent }),
    }),
  };
}

function rowOf({ _id: id, claimer: _, ...row }: OutboxDocument): OutboxRow {
  return { id, ...row };
}
