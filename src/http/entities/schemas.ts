import { Type } from "@sinclair/typebox";
import { exampleNames } from "../openapi.js";
import { success } from "../responses.js";

const pathPart = (description: string, example: string) =>
  Type.String({ minLength: 1, description, examples: [example] });

/** What says which entity is meant. */
export const entityPath = {
  table: pathPart("A table of the configuration, such as `user`.", exampleNames.table),
  fieldname: pathPart("An identity field of the table.", exampleNames.field),
  fieldval: pathPart("The identity.", exampleNames.value),
};

export const entityQuery = {
  fields: Type.Optional(
    Type.String({ description: "Names of the attributes to return, divided by commas. All by default." }),
  ),
  segments: Type.Boolean({ default: true, description: "Whether to include the segments." }),
  meta: Type.Boolean({ default: true, description: "Whether to include `meta`." }),
  download: Type.Boolean({ default: false, description: "Whether the answer is to be saved as a file." }),
};

const Entity = Type.Object(
  {
    segments: Type.Optional(
      Type.Array(Type.String(), {
        description: "Names of the segments it belongs to, in code unit order; absent with `segments=false`.",
      }),
    ),
  },
  {
    title: "Entity",
    description: "The entity: its attributes by name, as they were sent, and the segments it belongs to.",
    additionalProperties: Type.Unknown({
      description:
        "Any JSON value. An identity field is a string, or an array of strings when there are several values.",
    }),
  },
);

const EntityMeta = Type.Object(
  {
    by_fields: Type.Array(Type.String(), { description: "Identity fields of the table." }),
    format: Type.String({ const: "json" }),
    name: Type.String({ description: "The table." }),
  },
  { title: "EntityMeta", additionalProperties: false },
);

export const entityAnswer = success("EntityAnswer", Entity, { meta: Type.Optional(EntityMeta) });
