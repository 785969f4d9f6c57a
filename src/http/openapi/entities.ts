import { pageMetaSchema } from "../schemas/catalogue.js";
import { deletionRecordSchema, openDeletionSchema } from "../schemas/deletion.js";
import { answerSchema } from "../schemas/envelope.js";
import { flag, json, type Operation, type Operations, type Parameter } from "./operation.js";

const table: Parameter = { schema: { type: "string" }, description: "A table of the configuration, such as `user`." };
const fieldname: Parameter = { schema: { type: "string" }, description: "An identity field of the table." };
const fieldval: Parameter = { schema: { type: "string", minLength: 1 }, description: "The identity." };

const entityData = {
  type: "object",
  description: "The attributes of the entity, an identity with several values as an array, and its segments.",
  properties: { segments: { type: "array", items: { type: "string" }, description: "Names, sorted." } },
};

const entityMeta = {
  type: "object",
  required: ["by_fields", "format", "name"],
  properties: {
    by_fields: { type: "array", items: { type: "string" }, description: "Identity fields of the table." },
    format: { const: "json" },
    name: { type: "string", description: "The table." },
  },
};

function read(summary: string, path: Operation["path"]): Operation {
  return {
    tag: "entities",
    summary,
    ...(path === undefined ? {} : { path }),
    query: {
      fields: {
        schema: { type: "string" },
        description: "Names of the attributes to return, separated by commas. All when absent.",
      },
      segments: flag("Whether the segments are returned.", true),
      meta: flag("Whether `meta` is returned.", true),
      download: flag("Whether a browser saves the answer as a file.", false),
    },
    answer: json({ ...answerSchema(entityData), properties: { ...entityProperties, meta: entityMeta } }),
  };
}

const entityProperties = { status: { const: 200 }, message: { const: "success" }, data: entityData };

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
  "GET /api/entity/deletestatus/:id": {
    tag: "deletion",
    summary: "How far a deletion is",
    path: { id: { schema: deletionRecordSchema.properties.request_id } },
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
};
