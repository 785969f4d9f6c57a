import { type Collection, type Db, ObjectId } from "mongodb";
import type { CatalogueStore, Experience, Segment } from "../../catalogue/ports.js";
import { byIds, type CollectionPlan, revisionAfter } from "./collection.js";
import { entityCollectionsOf, formerMemberOf, memberOf } from "./entity-document.js";
import { Conflict, type Transact } from "./transaction.js";

export const catalogueCollections: readonly CollectionPlan[] = [
  { name: "segments", indexes: [{ key: { table: 1, _id: 1 } }] },
  // A note outlives by far every transaction that was open at the deletion: the server ends them after a minute (transactionLifetimeLimitSeconds).
  { name: "removed_segments", indexes: [{ key: { endedAt: 1 }, expireAfterSeconds: 3_600 }] },
  { name: "experiences", indexes: [{ key: { audience: 1 } }, { key: { goal: 1 } }] },
];

export interface SegmentDocument extends Omit<Segment, "id"> {
  readonly _id: string;
  /** Goes up with each experience that is put over it, so that its deletion at that moment conflicts. */
  readonly named?: number;
}

export type ExperienceDocument = Omit<Experience, "id"> & { readonly _id: string };

export const segmentsOf = (db: Db): Collection<SegmentDocument> => db.collection<SegmentDocument>("segments");

/** A segment that was deleted, and may have memberships left. */
interface RemovedSegment {
  readonly _id: string;
  /** Tells this deletion of the segment from later ones. */
  readonly deletion?: ObjectId;
  /** When the memberships that the deletion found were ended. */
  readonly endedAt?: Date;
}

export const removedSegmentsOf = (db: Db) => db.collection<RemovedSegment>("removed_segments");
export const experiencesOf = (db: Db): Collection<ExperienceDocument> =>
  db.collection<ExperienceDocument>("experiences");

/** Profiles that one write of `endMemberships` changes. */
const AT_ONCE = 1_000;

/** Segments and experiences, a document each. Lists are in the order of `_id`, which is that of its UTF-8 bytes. */
export function mongoCatalogueStore(db: Db, transact: Transact): CatalogueStore {
  const segments = segmentsOf(db);
  const removed = removedSegmentsOf(db);
  const experiences = experiencesOf(db);
  const { entities } = entityCollectionsOf(db);

  /**
   * Forgets what profiles say of a segment, of the kinds in `named`. A commit that read the segment before its deletion, and is kept after it, conflicts
   * with nothing, as a document that each commit writes would be shared by all. So each call looks again for members of a segment that is not
   * there. `isDeleted` is asked after profiles were found, and they are changed at the revision that they were found at: so a profile that became a
   * member since the segment was put again is left alone, however long a call is held up.
   */
  async function endStatements(segment: string, named: string[], isDeleted: () => Promise<boolean>): Promise<void> {
    const forget = {
      segments: { $setDifference: ["$segments", named.map((text) => ({ $literal: text }))] },
      statements: {
        $filter: {
          input: "$statements",
          as: "statement",
          cond: { $ne: [{ $arrayElemAt: ["$$statement", 0] }, { $literal: segment }] },
        },
      },
      revision: { $add: ["$revision", revisionAfter(0)] },
    };
    for (;;) {
      const found = entities.find({ segments: { $in: named } }, { projection: { revision: 1 }, limit: AT_ONCE });
      const profiles = await found.toArray();
      if (profiles.length === 0 || !(await isDeleted())) return;
      await entities.bulkWrite(
        profiles.map(({ _id, revision }) => ({ updateOne: { filter: { _id, revision }, update: [{ $set: forget }] } })),
        { ordered: false },
      );
    }
  }

  /** Those of the segments that are not there, unless none of them has a member: so it mostly takes two queries, however many were deleted lately. */
  async function stillNamed(ids: readonly string[]): Promise<readonly string[]> {
    const there = new Set(await segments.distinct("_id", byIds(ids)));
    const gone = ids.filter((id) => !there.has(id));
    return (await entities.countDocuments({ segments: { $in: gone.map(memberOf) } }, { limit: 1 })) === 0 ? [] : gone;
  }

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

    async segmentIds(after, limit) {
      const page = segments.find({ _id: { $gt: after ?? "" } }, { projection: { _id: 1 } });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(({ _id }) => _id);
    },

    deleteSegment: (id) =>
      transact(async (session) => {
        if ((await experiences.findOne({ $or: [{ audience: id }, { goal: id }] }, { session })) !== null)
          return "in-use";
        if ((await segments.deleteOne({ _id: id }, { session })).deletedCount === 0) return "absent";
        await removed.replaceOne({ _id: id }, { deletion: new ObjectId() }, { session, upsert: true });
        return "deleted";
      }),

    async endMemberships() {
      const notes = await removed.find().sort({ _id: 1 }).toArray();
      for (const note of notes.filter(({ endedAt }) => endedAt === undefined)) {
        const begun = { ...note, endedAt: { $exists: false } };
        const named = [memberOf(note._id), formerMemberOf(note._id)];
        await endStatements(note._id, named, async () => (await removed.findOne(begun)) !== null);
        await removed.updateOne(note, { $currentDate: { endedAt: true } });
      }
      const ended = notes.filter(({ endedAt }) => endedAt !== undefined).map(({ _id }) => _id);
      for (let from = 0; from < ended.length; from += AT_ONCE) {
        for (const id of await stillNamed(ended.slice(from, from + AT_ONCE)))
          await endStatements(id, [memberOf(id)], async () => (await segments.findOne({ _id: id })) === null);
      }
    },

    async putExperience(experience) {
      const { id, ...fields } = experience;
      const named = [...new Set([experience.audience, experience.goal])];
      try {
        await transact(async (session) => {
          const { matchedCount } = await segments.updateMany(byIds(named), { $inc: { named: 1 } }, { session });
          if (matchedCount < named.length) throw new Conflict();
          await experiences.replaceOne({ _id: id }, fields, { session, upsert: true });
        });
        return { missing: [] };
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        const there = new Set(await segments.distinct("_id", byIds(named)));
        return { missing: (["audience", "goal"] as const).filter((part) => !there.has(experience[part])) };
      }
    },

    experience: (id) => experiences.findOne({ _id: id }).then((found) => (found ? experienceOf(found) : undefined)),

    async experiences(after, limit) {
      const page = experiences.find({ _id: { $gt: after ?? "" } });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(experienceOf);
    },

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
