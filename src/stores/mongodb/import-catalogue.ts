import type { Db } from "mongodb";
import type { Experience } from "../../catalogue/ports.js";
import type { CopyRecords, PartTarget, SegmentRecord } from "../copy.js";
import {
  type ExperienceDocument,
  experienceOf,
  experiencesOf,
  removedSegmentsOf,
  segmentOf,
  segmentsOf,
} from "./catalogue-store.js";
import { byIds } from "./collection.js";
import { duplicatesOf } from "./errors.js";
import { importPart, inBatches } from "./import-part.js";

/** Segments and experiences. */
export function catalogueParts(db: Db): {
  readonly [P in "segments" | "experiences"]: PartTarget<CopyRecords[P]>;
} {
  return {
    segments: segmentPart(db),
    experiences: importPart<ExperienceDocument, Experience>({
      collection: experiencesOf(db),
      documentOf: ({ id, ...experience }) => ({ _id: id, ...experience }),
      recordOf: experienceOf,
    }),
  };
}

/** A record may lie in either collection, or in both. */
function segmentPart(db: Db): PartTarget<SegmentRecord> {
  const segments = segmentsOf(db);
  const removed = removedSegmentsOf(db);

  async function* live(): AsyncGenerator<SegmentRecord[]> {
    for await (const found of inBatches(segments.find(), segmentOf)) {
      const gone = new Set((await removed.find(byIds(found.map(({ id }) => id))).toArray()).map(({ _id }) => _id));
      yield found.map((segment) => ({ id: segment.id, segment, removed: gone.has(segment.id) }));
    }
  }

  async function* onlyRemoved(): AsyncGenerator<SegmentRecord[]> {
    for await (const ids of inBatches(removed.find(), ({ _id }) => _id)) {
      const there = new Set((await segments.find(byIds(ids)).toArray()).map(({ _id }) => _id));
      yield ids.filter((id) => !there.has(id)).map((id) => ({ id, segment: undefined, removed: true }));
    }
  }

  return {
    async *all() {
      yield* live();
      yield* onlyRemoved();
    },

    async add(records) {
      const kept = records.flatMap(({ id, segment }) => (segment === undefined ? [] : [{ ...segment, _id: id }]));
      const documents = kept.map(({ _id, name, table }) => ({ _id, name, table }));
      if (documents.length > 0) await segments.insertMany(documents, { ordered: false }).catch(duplicatesOf);
      const gone = records.flatMap(({ id, removed }) => (removed ? [{ _id: id }] : []));
      if (gone.length > 0) await removed.insertMany(gone, { ordered: false }).catch(duplicatesOf);
    },

    async remove(ids) {
      await segments.deleteMany(byIds(ids));
      await removed.deleteMany(byIds(ids));
    },
  };
}
