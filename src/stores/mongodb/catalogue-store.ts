import type { ClientSession, Collection, Db, Filter } from "mongodb";
import type { CatalogueStore, Experience, Segment } from "../../catalogue/ports.js";
import type { SegmentDeletions } from "../../entities/profile/deleted-segments.js";
import { byIds, type CollectionPlan, revisionAfter } from "./collection.js";
import { type EntityDocument, entityCollectionsOf, formerMemberOf, memberOf } from "./entity-document.js";
import { messagesOf } from "./history.js";
import type { Transact } from "./transaction.js";

export const catalogueCollections: readonly CollectionPlan[] = [
  { name: "segments", indexes: [{ key: { table: 1, _id: 1 } }] },
  { name: "removed_segments", indexes: [{ key: { lookUntil: 1 } }] },
  { name: "experiences", indexes: [{ key: { audience: 1 } }, { key: { goal: 1 } }] },
];

interface SegmentDocument extends Omit<Segment, "id"> {
  readonly _id: string;
  /** Increased by each experience that names the segment, so that a concurrent deletion conflicts. */
  readonly named?: number;
}

export const segmentsOf = (db: Db): Collection<SegmentDocument> => db.collection<SegmentDocument>("segments");

/** A deleted segment. */
interface RemovedSegment {
  readonly _id: string;
  /** When it was last deleted, Unix ms. */
  readonly deletedAt: number;
  /** End of the search for void statements, by the clock of the server; absent once none can be stored any more. */
  readonly lookUntil?: Date;
}

export const removedSegmentsOf = (db: Db) => db.collection<RemovedSegment>("removed_segments");

export type ExperienceDocument = Omit<Experience, "id"> & { readonly _id: string };

export const experiencesOf = (db: Db): Collection<ExperienceDocument> =>
  db.collection<ExperienceDocument>("experiences");

/** Segments and experiences, a document each. Lists are in the order of `_id`, that is of its UTF-8 bytes. */
export function mongoCatalogueStore(db: Db, transact: Transact): CatalogueStore {
  const segments = segmentsOf(db);
  const experiences = experiencesOf(db);

  return {
    async putSegment({ id, name, table }) {
      await segments.updateOne({ _id: id }, { $set: { name, table } }, { upsert: true });
    },

    segment: (id) => segments.findOne({ _id: id }).then((found) => (found ? segmentOf(found) : undefined)),

    async segmentsById(ids) {
      if (ids.length === 0) return new Map();
      const found = await segments.find(byIds(ids), { batchSize: ids.length + 1 }).toArray();
      return new Map(found.map((document) => [document._id, segmentOf(document)]));
    },

    async segments(after, limit, table) {
      const ofTable = table === undefined ? {} : { table: { $eq: table } };
      const page = segments.find({ _id: { $gt: after ?? "" }, ...ofTable });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(segmentOf);
    },

    countSegments: (table) =>
      table === undefined
        ? segments.countDocuments({}, { hint: "_id_" })
        : segments.countDocuments({ table: { $eq: table } }),

    async segmentIds(after, limit) {
      const page = segments.find({ _id: { $gt: after ?? "" } }, { projection: { _id: 1 } });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(({ _id }) => _id);
    },

    deleteSegment: (id, at) =>
      transact(async (session) => {
        if ((await experiences.findOne({ $or: [{ audience: id }, { goal: id }] }, { session })) !== null)
          return "in-use";
        if ((await segments.deleteOne({ _id: id }, { session })).deletedCount === 0) return "absent";
        await noteDeletion(db, id, at, session);
        return "deleted";
      }),

    endMemberships: voidRemoval(db),

    putExperience: ({ id, ...experience }) =>
      transact(async (session) => {
        const named = [...new Set([experience.audience, experience.goal])];
        const gone = await unregistered(db, named, session);
        if (gone.length > 0)
          return { missing: (["audience", "goal"] as const).filter((part) => gone.includes(experience[part])) };
        await segments.updateMany(byIds(named), { $inc: { named: 1 } }, { session });
        await experiences.replaceOne({ _id: id }, experience, { session, upsert: true });
        return { missing: [] };
      }),

    experience: (id) => experiences.findOne({ _id: id }).then((found) => (found ? experienceOf(found) : undefined)),

    async experiences(after, limit) {
      const page = experiences.find({ _id: { $gt: after ?? "" } });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(experienceOf);
    },

    async experiencesById(ids) {
      if (ids.length === 0) return new Map();
      const found = await experiences.find(byIds(ids), { batchSize: ids.length + 1 }).toArray();
      return new Map(found.map((document) => [document._id, experienceOf(document)]));
    },

    countExperiences: () => experiences.countDocuments({}, { hint: "_id_" }),

    async deleteExperience(id) {
      return (await experiences.deleteOne({ _id: id })).deletedCount > 0;
    },
  };
}

export function segmentOf({ _id: id, name, table }: SegmentDocument): Segment {
  return { id, name, table };
}

export function experienceOf({ _id: id, name, group, audience, goal }: ExperienceDocument): Experience {
  return { id, name, ...(group === undefined ? {} : { group }), audience, goal };
}

/** Returns the deletions of segments whose void statements may still be stored. */
export async function endingDeletions(db: Db): Promise<SegmentDeletions> {
  const found = await removedSegmentsOf(db)
    .find(isEnding, { projection: { deletedAt: 1 } })
    .toArray();
  return new Map(found.map(({ _id, deletedAt }) => [_id, deletedAt]));
}

const isEnding: Filter<RemovedSegment> = { lookUntil: { $gt: new Date(0) } };

/** Returns the deletions of these segments. */
export async function segmentDeletionsOf(
  db: Db,
  ids: readonly string[],
  session: ClientSession,
): Promise<SegmentDeletions> {
  if (ids.length === 0) return new Map();
  const options = { session, projection: { deletedAt: 1 }, batchSize: ids.length + 1 };
  const found = await removedSegmentsOf(db).find(byIds(ids), options).toArray();
  return new Map(found.map(({ _id, deletedAt }) => [_id, deletedAt]));
}

/** Returns which of these segments are not in the catalogue. */
export async function unregistered(db: Db, ids: readonly string[], session?: ClientSession): Promise<string[]> {
  if (ids.length === 0) return [];
  const inside = session === undefined ? {} : { session };
  const options = { ...inside, projection: { _id: 1 }, batchSize: ids.length + 1 };
  const known = new Set((await segmentsOf(db).find(byIds(ids), options).toArray()).map(({ _id }) => _id));
  return ids.filter((id) => !known.has(id));
}

/**
 * Minimum duration of the search for void statements after a deletion, ms. A commit that read the segment before its
 * deletion and is stored after it conflicts with nothing: a document that every commit writes would be contended. The
 * server aborts a transaction after a minute (`transactionLifetimeLimitSeconds`).
 */
const LOOK_MS = 300_000;

/**
 * Must run in the transaction that removes the segment. The deletion must not precede a stored message: the clocks of
 * processes may differ.
 */
async function noteDeletion(db: Db, id: string, at: number, session: ClientSession): Promise<void> {
  const newestFirst = { session, sort: { arrival: -1 }, projection: { arrival: 1 } } as const;
  const newest = await messagesOf(db).findOne({}, newestFirst);
  const deletedAt = { $max: ["$deletedAt", Math.max(at, newest?.arrival ?? 0)] };
  const lookUntil = { $add: ["$$NOW", LOOK_MS] };
  const update = [{ $set: { deletedAt, lookUntil } }];
  await removedSegmentsOf(db).updateOne({ _id: id }, update, { session, upsert: true });
}

/** Filter for profiles with a void statement about the segment. */
function voidStatements(segment: string, deletedAt: number): Filter<EntityDocument> {
  const notLater = { $lte: deletedAt };
  return {
    segments: { $in: [memberOf(segment), formerMemberOf(segment)] },
    statements: { $elemMatch: { 0: segment, $or: [{ 2: notLater }, { 3: notLater }] } },
  };
}

/** Profiles changed by one call, and segments searched by one query. */
const PROFILES_AT_ONCE = 200;
const SEGMENTS_AT_ONCE = 100;

/** Removes void statements from profiles, as `CatalogueStore.endMemberships` promises. */
function voidRemoval(db: Db): () => Promise<boolean> {
  const { entities } = entityCollectionsOf(db);
  const segments = segmentsOf(db);
  const removed = removedSegmentsOf(db);

  /**
   * Returns the number of profiles with a void statement. Each is changed only at the revision that was read: it may
   * have a valid statement by now.
   */
  async function removeSome(segment: string, deletedAt: number): Promise<number> {
    const projection = { revision: 1 } as const;
    const found = await entities
      .find(voidStatements(segment, deletedAt), { projection, limit: PROFILES_AT_ONCE })
      .toArray();
    if (found.length === 0) return 0;
    const named = [memberOf(segment), formerMemberOf(segment)].map((text) => ({ $literal: text }));
    const others = { $ne: [{ $arrayElemAt: ["$$statement", 0] }, { $literal: segment }] };
    const forget = {
      segments: { $setDifference: ["$segments", named] },
      statements: { $filter: { input: "$statements", as: "statement", cond: others } },
      revision: { $add: ["$revision", revisionAfter(0)] },
    };
    await entities.bulkWrite(
      found.map(({ _id, revision }) => ({ updateOne: { filter: { _id, revision }, update: [{ $set: forget }] } })),
      { ordered: false },
    );
    return found.length;
  }

  /**
   * Registers segments again that are named by a commit newer than the deletion, if the commit read the segment before
   * it.
   */
  async function registerAgain(ids: readonly string[]): Promise<void> {
    const gone = await unregistered(db, ids);
    if (gone.length === 0) return;
    if ((await entities.countDocuments({ segments: { $in: gone.map(memberOf) } }, { limit: 1 })) === 0) return;
    for (const id of gone) {
      const member = await entities.findOne({ segments: memberOf(id) }, { projection: { table: 1 } });
      if (member === null) continue;
      await segments.updateOne({ _id: id }, { $setOnInsert: { name: id, table: member.table } }, { upsert: true });
    }
  }

  /** Returns true if more may be left. It takes a few queries, however many segments were deleted lately. */
  async function endSome(deletions: readonly (readonly [string, number])[]): Promise<boolean> {
    const either = deletions.map(([id, deletedAt]) => voidStatements(id, deletedAt));
    if ((await entities.countDocuments({ $or: either }, { limit: 1 })) > 0) {
      let isMore = false;
      for (const [id, deletedAt] of deletions)
        isMore = (await removeSome(id, deletedAt)) === PROFILES_AT_ONCE || isMore;
      return isMore;
    }
    const ids = deletions.map(([id]) => id);
    await registerAgain(ids);
    const isOver = { ...byIds<RemovedSegment>(ids), $expr: { $lt: ["$lookUntil", "$$NOW"] } };
    await removed.updateMany(isOver, { $unset: { lookUntil: "" } });
    return false;
  }

  return async () => {
    const deletions = [...(await endingDeletions(db))];
    let isMore = false;
    for (let from = 0; from < deletions.length; from += SEGMENTS_AT_ONCE)
      isMore = (await endSome(deletions.slice(from, from + SEGMENTS_AT_ONCE))) || isMore;
    return isMore;
  };
}
