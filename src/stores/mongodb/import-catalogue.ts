import type { Db } from "mongodb";
import type { Experience } from "../../catalogue/experience.js";
import type { CopyRecords, PartTarget, SegmentRecord } from "../copy.js";
import {
  catalogueDocuments,
  type ExperienceDocument,
  experienceDocument,
  experienceOf,
  type SegmentDocument,
  segmentOf,
} from "./catalogue-documents.js";
import { importPart } from "./import-part.js";

/** Segments and experiences. */
export function catalogueParts(db: Db): {
  readonly [P in "segments" | "experiences"]: PartTarget<CopyRecords[P]>;
} {
  const { segments, experiences } = catalogueDocuments(db);
  return {
    segments: importPart<SegmentDocument, SegmentRecord>({
      collection: segments,
      documentOf: ({ id, segment, removed }) => ({
        _id: id,
        ...(segment === undefined ? { live: false } : { live: true, name: segment.name, table: segment.table }),
        ...(removed ? { removed } : {}),
      }),
      recordOf: (document) => ({
        id: document._id,
        segment: document.live ? segmentOf(document) : undefined,
        removed: document.removed === true,
      }),
    }),
    experiences: importPart<ExperienceDocument, Experience>({
      collection: experiences,
      documentOf: experienceDocument,
      recordOf: experienceOf,
    }),
  };
}
