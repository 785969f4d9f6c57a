import type { ClientSession, Collection, Db, Filter, UpdateFilter } from "mongodb";
import {
  type CatalogueStore,
  type Experience,
  isByRule,
  MAX_MARKS,
  ruleMark,
  type Segment,
} from "../../../catalogue/ports.js";
import type { Hook } from "../../../entities/outbox.js";
import { byIds, type CollectionPlan } from "../collection.js";
import { beginGeneration, newestGeneration, recordDeletion, voidRemoval } from "../profiles/deleted-segments.js";
import { writeDeletedSegment } from "../profiles/outbox.js";
import type { Transact } from "../transaction.js";
import { putMark } from "./mark-store.js";

export const catalogueCollections: readonly CollectionPlan[] = [
  {
    name: "segments",
    indexes: [{ key: { table: 1, _id: 1 } }, { key: { "byRule.change": 1 }, sparse: true }],
  },
  { name: "experiences", indexes: [{ key: { audience: 1 } }, { key: { goal: 1 } }] },
];

export interface SegmentDocument extends Omit<Segment, "id"> {
  readonly _id: string;
  /** Increased by each experience that names the segment, so that a concurrent deletion conflicts. */
  readonly named?: number;
}

export const segmentsOf = (db: Db): Collection<SegmentDocument> => db.collection<SegmentDocument>("segments");

export type ExperienceDocument = Omit<Experience, "id"> & { readonly _id: string };

export const experiencesOf = (db: Db): Collection<ExperienceDocument> =>
  db.collection<ExperienceDocument>("experiences");

const isRuled: Filter<SegmentDocument> = { "byRule.change": { $gt: 0 } };

/** Ids of the users of a segment that are returned, of each kind. */
const MAX_USERS = 10;

/** Stores segments and experiences, a document each. Lists are sorted by `_id`, in the order of UTF-8 bytes. */
export function mongoCatalogueStore(db: Db, transact: Transact, hooks: readonly Hook[] = []): CatalogueStore {
  const segments = segmentsOf(db);
  const experiences = experiencesOf(db);

  return {
    putSegment: ({ id, name, table }) =>
      transact(async (session) => {
        if ((await segments.findOne({ _id: id }, { session }))?.byRule !== undefined) return "by-rule";
        await segments.updateOne({ _id: id }, { $set: { name, table } }, { session, upsert: true });
        return "stored";
      }),

    putRule: ({ id, name, table, rule, names }, generation, at) =>
      transact(async (session) => {
        if ((await newestGeneration(db, { session })) !== generation) return "outdated";
        const stored = await segments.findOne({ _id: id }, { session });
        if (stored !== null && stored.byRule === undefined) return "pushed";
        if (stored !== null && stored.table !== table) return "other-table";
        const isSame = stored?.byRule !== undefined && JSON.stringify(stored.byRule.rule) === JSON.stringify(rule);
        const byRule = isSame
          ? stored.byRule
          : { rule, names, change: await beginGeneration(db, session), computing: { since: at } };
        await segments.updateOne({ _id: id }, { $set: { name, table, byRule } }, { session, upsert: true });
        if (!isSame) await putMark(db, session, ruleMark(id, stored === null, at), MAX_MARKS);
        return "stored";
      }),

    async rules() {
      const generation = await newestGeneration(db);
      const found = await segments.find(isRuled).sort({ _id: 1 }).toArray();
      return { generation, segments: found.map(segmentOf).filter(isByRule) };
    },

    setComputing: (id, before, computing) =>
      transact(async (session) => {
        const unchanged = {
          _id: id,
          "byRule.change": before.change,
          "byRule.computing": before.computing === undefined ? { $exists: false } : { $eq: before.computing },
        };
        const update: UpdateFilter<SegmentDocument> =
          computing === undefined
            ? { $unset: { "byRule.computing": "" } }
            : { $set: { "byRule.computing": computing } };
        return (await segments.updateOne(unchanged, update, { session })).matchedCount > 0;
      }),

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
        const few = { session, projection: { _id: 1 }, sort: { _id: 1 }, limit: MAX_USERS } as const;
        const naming = await experiences.find({ $or: [{ audience: id }, { goal: id }] }, few).toArray();
        const rules = await segments.find({ ...isRuled, "byRule.names": id }, few).toArray();
        const users = { experiences: naming.map(({ _id }) => _id), rules: rules.map(({ _id }) => _id) };
        if (users.experiences.length + users.rules.length > 0) return users;
        if ((await segments.deleteOne({ _id: id }, { session })).deletedCount === 0) return "absent";
        await writeDeletedSegment(db, hooks, id, at, await recordDeletion(db, id, at, session), session);
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

    deleteExperience: (id) =>
      transact(async (session) => (await experiences.deleteOne({ _id: id }, { session })).deletedCount > 0),
  };
}

function segmentOf({ _id: id, name, table, byRule }: SegmentDocument): Segment {
  return byRule === undefined ? { id, name, table } : { id, name, table, byRule };
}

function experienceOf({ _id: id, ...experience }: ExperienceDocument): Experience {
  return { id, ...experience };
}

/** Returns which of these segments are not in the catalogue. */
export async function unregistered(db: Db, ids: readonly string[], session?: ClientSession): Promise<string[]> {
  if (ids.length === 0) return [];
  const inside = session === undefined ? {} : { session };
  const options = { ...inside, projection: { _id: 1 }, batchSize: ids.length + 1 };
  const known = new Set((await segmentsOf(db).find(byIds(ids), options).toArray()).map(({ _id }) => _id));
  return ids.filter((id) => !known.has(id));
}
