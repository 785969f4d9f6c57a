import { streamNamePattern } from "../../metrics/dimensions/stream.js";
import { collectBodySchema, collectQuery, collectTallySchema } from "../schemas/collect.js";
import { deletionRecordSchema, openDeletionSchema, requestIdPattern } from "../schemas/deletion.js";
import { entityMetaSchema, entityQuery, entitySchema } from "../schemas/entity.js";
import { answerSchema } from "../schemas/envelope.js";
import { listPage, pageMetaSchema, pageQuery } from "../schemas/page.js";
import { exampleNames, messageExamples, messageLinesExamples } from "./examples.js";
import { described, json, type Operation, type Operations, type Parameter } from "./operation.js";

const text = { type: "string", minLength: 1 } as const;

const table: Parameter = {
  schema: text,
  description: "A table of the configuration, such as `user`.",
  example: exampleNames.table,
};
const fieldname: Parameter = {
  schema: text,
  description: "An identity field of the table.",
  example: exampleNames.field,
};
const fieldval: Parameter = { schema: text, description: "The identity.", example: exampleNames.value };

const deletionAnswer = json(answerSchema("DeletionAnswer", deletionRecordSchema));

export const entityOperations: Operations = {
  "GET /api/entity/:table/:fieldname/:fieldval": read("readEntity", "Read an entity", { table, fieldname, fieldval }),
  "GET /api/entity/:table/:fieldval": read(
    "readEntityByDefaultIdentity",
    "Read an entity by the table's default identity",
    { table, fieldval: { ...fieldval, example: exampleNames.defaultValue } },
  ),
  "GET /api/me/:fieldname/:fieldval": read("readUser", "Read a user", { fieldname, fieldval }),
  "DELETE /api/entity/:table/:fieldname/:fieldval": {
    id: "eraseEntity",
    tag: "deletion",
    summary: "Erase an entity for good",
    description:
      "Recorded durably before the answer; from then on no read returns the profile by any of its identities. The answer is the same whether or not there is such an entity.",
    path: { table, fieldname, fieldval },
    answer: deletionAnswer,
    errors: [507],
  },
  "GET /api/entity/deletestatus/:request_id": {
    id: "readDeletionStatus",
    tag: "deletion",
    summary: "How far a deletion is",
    path: { request_id: { schema: deletionRecordSchema.properties.request_id } },
    answer: deletionAnswer,
  },
  "GET /api/deletion": {
    id: "listOpenDeletions",
    tag: "deletion",
    summary: "Open deletion requests",
    description: "In order of acceptance. Nothing in the list says whom a request is about.",
    query: {
      completed: { schema: { type: "string", enum: ["false"] }, description: "Open requests alone are listed." },
      ...described(pageQuery(listPage)),
      after: { schema: { type: "string", pattern: requestIdPattern }, description: "`meta.next` of the page before." },
    },
    answer: json(
      answerSchema("OpenDeletionsAnswer", { type: "array", items: openDeletionSchema }, { meta: pageMetaSchema }),
    ),
  },
  "POST /collect/json/:stream": {
    id: "collectMessages",
    tag: "collecting",
    summary: "Take in messages about entities",
    description:
      "One message, an array, or one on each line (then of any number). A message that is wrong is reported by position, the others stand. Durable, applied and counted when the answer comes.",
    path: {
      stream: {
        schema: { type: "string", pattern: streamNamePattern },
        description: "The stream they are counted for.",
        example: exampleNames.stream,
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
      "application/json": { schema: collectBodySchema, examples: messageExamples },
      "application/x-ndjson": {
        schema: { type: "string", description: "A message in JSON on each line." },
        examples: messageLinesExamples,
      },
    },
    answer: json(answerSchema("CollectAnswer", collectTallySchema)),
    errors: [409, 422],
  },
};

function read(id: string, summary: string, path: Readonly<Record<string, Parameter>>): Operation {
  return {
    id,
    tag: "entities",
    summary,
    path,
    query: described(entityQuery),
    answer: json(answerSchema("EntityAnswer", entitySchema, { meta: entityMetaSchema, metaRequired: false })),
  };
}
