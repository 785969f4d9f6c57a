import { pageMetaSchema } from "../schemas/catalogue.js";
import {
  collectBodySchema,
  collectQuery,
  collectTallySchema,
  messageSchema,
  streamNamePattern,
} from "../schemas/collect.js";
import { deletionRecordSchema, openDeletionSchema } from "../schemas/deletion.js";
import { entityMetaSchema, entityQuery, entitySchema } from "../schemas/entity.js";
import { answerSchema } from "../schemas/envelope.js";
import { described, json, type Operation, type Operations, type Parameter } from "./operation.js";

const table: Parameter = { schema: { type: "string" }, description: "A table of the configuration, such as `user`." };
const fieldname: Parameter = { schema: { type: "string" }, description: "An identity field of the table." };
const fieldval: Parameter = { schema: { type: "string", minLength: 1 }, description: "The identity." };

function read(summary: string, path: Readonly<Record<string, Parameter>>): Operation {
  return {
    tag: "entities",
    summary,
    path,
    query: described(entityQuery),
    answer: json(answerSchema(entitySchema, { meta: entityMetaSchema, metaRequired: false })),
  };
}

const deletionAnswer = json(answerSchema(deletionRecordSchema));

export const entityOperations: Operations = {
  "GET /api/entity/:table/:fieldname/:fieldval": read("Read an entity", { table, fieldname, fieldval }),
  "GET /api/entity/:table/:fieldval": read("Read an entity by the table's default identity", { table, fieldval }),
  "GET /api/me/:fieldname/:fieldval": read("Read a user", { fieldname, fieldval }),
  "DELETE /api/entity/:table/:fieldname/:fieldval": {
    tag: "deletion",
    summary: "Erase an entity for good",
    description:
      "Recorded durably before the answer; from then on no read returns the profile by any of its identities. The answer is the same whether or not there is such an entity.",
    path: { table, fieldname, fieldval },
    answer: deletionAnswer,
    errors: [507],
  },
  "GET /api/entity/deletestatus/:request_id": {
    tag: "deletion",
    summary: "How far a deletion is",
    path: { request_id: { schema: deletionRecordSchema.properties.request_id } },
    answer: deletionAnswer,
  },
  "GET /api/deletion": {
    tag: "deletion",
    summary: "Open deletion requests",
    description: "In order of acceptance. Nothing in the list says whom a request is about.",
    query: {
      completed: { schema: { const: "false" }, description: "Open requests alone are listed." },
      after: { schema: { type: "string" }, description: "`meta.next` of the page before." },
      limit: { schema: { type: "integer", minimum: 1, maximum: 1000, default: 100 } },
    },
    answer: json(answerSchema({ type: "array", items: openDeletionSchema }, { meta: pageMetaSchema })),
  },
  "POST /collect/json/:stream": {
    tag: "collecting",
    summary: "Take in messages about entities",
    description:
      "One message, an array, or one on each line (then of any number). A message that is wrong is reported by position, the others stand. Durable, applied and counted when the answer comes.",
    path: {
      stream: {
        schema: { type: "string", pattern: streamNamePattern },
        description: "The stream they are counted for.",
      },
    },
    query: described(collectQuery),
    headers: {
      "Idempotency-Key": {
        schema: { type: "string", minLength: 1, maxLength: 256 },
        description: "Makes the request safe to repeat for 24 hours: what was applied is skipped, the rest goes on.",
      },
    },
    body: {
      ...json(collectBodySchema),
      "application/x-ndjson": { ...messageSchema, description: "One message on each line." },
    },
    answer: json(answerSchema(collectTallySchema)),
    errors: [409, 422],
  },
};
