import type { Db } from "mongodb";
import type { CatalogueStore } from "../../catalogue/catalogue-store.js";
import { catalogueDocuments, experienceOf, segmentOf } from "./catalogue-documents.js";
import { deleteSegment, putExperience } from "./catalogue-naming.js";
import { duplicatesOf, isDuplicate, oneOf } from "./collection.js";

/** Segments and experiences, a document each. Lists are in the order of `_id`, which is that of its UTF-8 bytes. */
export function mongoCatalogueStore(db: Db): CatalogueStore {
  const catalogue = catalogueDocuments(db);
  const { segments, experiences } = catalogue;

  return {
    async putSegment({ id, name, table }) {
      const put = () => segments.updateOne({ _id: id }, { $set: { live: true, name, table } }, { upsert: true });
      await put().catch((error: unknown) => {
        if (!isDuplicate(error)) throw error;
        return put();
      });
    },

    async registerSegments(registered) {
      if (registered.length === 0) return;
      const ids = registered.map(({ id }) => id);
      const known = await segments.find({ _id: oneOf(ids), live: true }, { projection: { _id: 1 } }).toArray();
      const fresh = new Map(registered.map((segment) => [segment.id, segment]));
      for (const { _id } of known) fresh.delete(_id);
      if (fresh.size === 0) return;
      const documents = Array.from(fresh.values(), ({ id, name, table }) => ({ _id: id, live: true, name, table }));
      const there = await segments
        .insertMany(documents, { ordered: false })
        .then(() => new Set<number>(), duplicatesOf);
      const deleted = documents.filter((_, at) => there.has(at));
      for (const { _id, ...segment } of deleted) await segments.updateOne({ _id, live: false }, { $set: segment });
    },

    async segment(id) {
      const found = await segments.findOne({ _id: id });
      return found?.live === true ? segmentOf(found) : undefined;
    },

    async segmentsById(ids) {
      if (ids.length === 0) return new Map();
      const found = await segments.find({ _id: oneOf(ids) }).toArray();
      return new Map(found.filter(({ live }) => live).map((document) => [document._id, segmentOf(document)]));
    },

    async segments(after, limit, table) {
      const page = segments.find({
        _id: { $gt: after ?? "" },
        live: true,
        ...(table === undefined ? {} : { table: { $eq: table } }),
      });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(segmentOf);
    },

    deleteSegment: (id) => deleteSegment(catalogue, id),

    async removed(limit) {
      const found = await segments.find({ removed: true }).sort({ _id: 1 }).limit(limit).toArray();
      return found.map(({ _id }) => _id);
    },

    async forgetRemoved(id) {
      await segments.updateOne({ _id: id }, { $unset: { removed: "" } });
      await segments.deleteOne({ _id: id, live: false, removed: { $exists: false } });
    },

    putExperience: (experience) => putExperience(catalogue, experience),

    async experience(id) {
      const found = await experiences.findOne({ _id: id });
      return found?.live === true ? experienceOf(found) : undefined;
    },

    async experiences(after, limit) {
      const page = experiences.find({ _id: { $gt: after ?? "" }, live: true });
      return (await page.sort({ _id: 1 }).limit(limit).toArray()).map(experienceOf);
    },

    async deleteExperience(id) {
      const deleted = await experiences.findOneAndDelete({ _id: id });
      return deleted?.live === true;
    },
  };
}
