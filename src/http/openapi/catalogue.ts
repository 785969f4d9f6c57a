import {
  experienceBodySchema,
  experienceSchema,
  idSchema,
  pageMetaSchema,
  segmentBodySchema,
  segmentSchema,
  segmentSizeSchema,
} from "../schemas/catalogue.js";
import { answerSchema } from "../schemas/envelope.js";
import { json, type Operation, type Operations } from "./operation.js";

const path = { id: { schema: idSchema } };

const removed = { type: "object", required: ["id"], properties: { id: idSchema } };

function list(summary: string, item: object): Operation {
  return {
    tag: "catalogue",
    summary,
    description: "In order of id.",
    query: {
      after: { schema: { type: "string" }, description: "`meta.next` of the page before." },
      limit: { schema: { type: "integer", minimum: 1 } },
    },
    answer: json(answerSchema({ type: "array", items: item }, { meta: pageMetaSchema })),
  };
}

export const catalogueOperations: Operations = {
  "GET /api/segment": list("Segments", segmentSchema),
  "GET /api/segment/sizes": list("Sizes of segments", segmentSizeSchema),
  "GET /api/segment/:id": { tag: "catalogue", summary: "A segment", path, answer: json(answerSchema(segmentSchema)) },
  "PUT /api/segment/:id": {
    tag: "catalogue",
    summary: "Make or change a segment",
    path,
    body: json(segmentBodySchema),
    answer: json(answerSchema(segmentSchema)),
  },
  "DELETE /api/segment/:id": {
    tag: "catalogue",
    summary: "Remove a segment and its memberships",
    description: "Its series stays. Refused while an experience names it.",
    path,
    answer: json(answerSchema(removed)),
    errors: [409],
  },
  "GET /api/experience": list("Experiences", experienceSchema),
  "GET /api/experience/:id": {
    tag: "catalogue",
    summary: "An experience",
    path,
    answer: json(answerSchema(experienceSchema)),
  },
  "PUT /api/experience/:id": {
    tag: "catalogue",
    summary: "Make or change an experience",
    path,
    body: json(experienceBodySchema),
    answer: json(answerSchema(experienceSchema)),
    errors: [409, 422],
  },
  "DELETE /api/experience/:id": {
    tag: "catalogue",
    summary: "Remove an experience",
    path,
    answer: json(answerSchema(removed)),
  },
};
