import type { Collection, Db } from "mongodb";
import type { CatalogueStore } from "../../catalogue/catalogue-store.js";
import type { Experience } from "../../catalogue/experience.js";
import type { Segment } from "../../catalogue/segment.js";
import { byIds, type CollectionPlan } from "./collection.js";
import { Conflict, type Transact } from "./transaction.js";

export const catalogueCollections: readonly CollectionPlan[] = [
  { name: "segments", indexes: [{ key: { table: 1, _id: 1 } }] },
  { name: "removed_segments", indexes: [] },
  { name: "experiences", indexes: [{ key: { audience: 1 } }, { key: { goal: 1 } }] },
];

export interface SegmentDocument extends Omit<Segment, "id"> {
  readonly _id: string;
  /** Goes up with each experience that is put over it, so that its deletion at that moment conflicts. */
  readonly named?: number;
}

export type ExperienceDocument = Omit<Experience, "id"> & { readonly _id: string };

export const segmentsOf = (db: Db): Collection<SegmentDocument> => db.collection<SegmentDocument>("segments");
/** Segments that were deleted, and may have memberships left. */
export const removedSegmentsOf = (db: Db) => db.collection<{ readonly _id: string }>("removed_segments");
export const experiencesOf = (db: Db): Collection<ExperienceDocument> =>
  db.collection<ExperienceDocument>("experiences");

/** Segments and experiences, a document each. Lists are in the order of `_id`, which is that of its UTF-8 bytes. */
export function mongoCatalogueStore(db: Db, transact: Transact): CatalogueStore {
  const segments = segmentsOf(db);
  const removed = removedSegmentsOf(db);
  const experiences = experiencesOf(db);

  return {
    async putSegment({ id, name, table }) {
      await segments.updateOne({ _id: id }, { $set: { name, table } }, { upsert: true });
    },

    async segment(id) {
      const found = await segments.findOne({ _id: id });
      return found === null ? undefined : segmentOf(found);
    },

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

    deleteSegment: (id) =>
      transact(async (session) => {
        if ((await experiences.findOne({ $or: [{ audience: id }, { goal: id }] }, { session })) !== null)
          return "in-use";
        if ((await segments.deleteOne({ _id: id }, { session })).deletedCount === 0) return "absent";
        await removed.updateOne({ _id: id }, { $set: {} }, { session, upsert: true });
        return "deleted";
      }),

    async removed(limit) {
      return (await removed.find().sort({ _id: 1 }).limit(limit).toArray()).map(({ _id }) => _id);
    },

    async forgetRemoved(id) {
      await removed.deleteOne({ _id: id });
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
        const there = new Set((await segments.find(byIds(named)).toArray()).map(({ _id }) => _id));
        return { missing: (["audience", "goal"] as const).filter((part) => !there.has(experience[part])) };
      }
    },

    async experience(id) {
      const found = await experiences.findOne({ _id: id });
      return found === null ? undefined : experienceOf(found);
    },

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
