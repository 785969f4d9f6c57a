import {
  experienceBodySchema,
  experienceSchema,
  idSchema,
  removedSchema,
  segmentBodySchema,
  segmentSchema,
  segmentSizeSchema,
} from "../schemas/catalogue.js";
import { answerSchema } from "../schemas/envelope.js";
import { listPage, type PageSizes, pageMetaSchema, pageQuery, sizesPage } from "../schemas/page.js";
import { exampleNames, experienceExamples, segmentExamples } from "./examples.js";
import { described, json, type Operation, type Operations } from "./operation.js";

const pathOf = (example: string) => ({ id: { schema: idSchema, example } });
const segmentPath = pathOf(exampleNames.audience);
const experiencePath = pathOf(exampleNames.experience);

const segmentAnswer = json(answerSchema("SegmentAnswer", segmentSchema));
const experienceAnswer = json(answerSchema("ExperienceAnswer", experienceSchema));
const removedAnswer = json(answerSchema("RemovedAnswer", removedSchema));

export const catalogueOperations: Operations = {
  "GET /api/segment": list("listSegments", "Segments", "SegmentsAnswer", segmentSchema, listPage, {
    table: { type: "string", description: "Segments of this table alone." },
  }),
  "GET /api/segment/sizes": list(
    "listSegmentSizes",
    "Sizes of segments",
    "SegmentSizesAnswer",
    segmentSizeSchema,
    sizesPage,
    { ids: { type: "string", description: "These segments alone: ids, separated by commas." } },
  ),
  "GET /api/segment/:id": {
    id: "readSegment",
    tag: "catalogue",
    summary: "A segment",
    path: segmentPath,
    answer: segmentAnswer,
  },
  "PUT /api/segment/:id": {
    id: "putSegment",
    tag: "catalogue",
    summary: "Make or change a segment",
    path: segmentPath,
    body: { "application/json": { schema: segmentBodySchema, examples: segmentExamples } },
    answer: segmentAnswer,
  },
  "DELETE /api/segment/:id": {
    id: "deleteSegment",
    tag: "catalogue",
    summary: "Remove a segment and its memberships",
    description: "Its series stays. Refused while an experience names it.",
    path: pathOf(exampleNames.spare),
    answer: removedAnswer,
    errors: [409],
  },
  "GET /api/experience": list("listExperiences", "Experiences", "ExperiencesAnswer", experienceSchema, listPage),
  "GET /api/experience/:id": {
    id: "readExperience",
    tag: "catalogue",
    summary: "An experience",
    path: experiencePath,
    answer: experienceAnswer,
  },
  "PUT /api/experience/:id": {
    id: "putExperience",
    tag: "catalogue",
    summary: "Make or change an experience",
    path: experiencePath,
    body: { "application/json": { schema: experienceBodySchema, examples: experienceExamples } },
    answer: experienceAnswer,
    errors: [409, 422],
  },
  "DELETE /api/experience/:id": {
    id: "deleteExperience",
    tag: "catalogue",
    summary: "Remove an experience",
    path: experiencePath,
    answer: removedAnswer,
  },
};

function list(
  id: string,
  summary: string,
  title: string,
  items: object,
  sizes: PageSizes,
  filters: Readonly<Record<string, object>> = {},
): Operation {
  return {
    id,
    tag: "catalogue",
    summary,
    description: "In order of id.",
    query: described({ ...filters, ...pageQuery(sizes) }),
    answer: json(answerSchema(title, { type: "array", items }, { meta: pageMetaSchema })),
  };
}
