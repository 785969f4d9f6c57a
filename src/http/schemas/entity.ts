/** `data` of the answer to an entity read. */
export const entitySchema = {
  title: "Entity",
  type: "object",
  description: "The entity: its attributes by name, as they were sent, and the segments it belongs to.",
  properties: {
    segments: {
      type: "array",
      items: { type: "string" },
      description: "Names of the segments it belongs to, in code unit order; absent with `segments=false`.",
    },
  },
  additionalProperties: {
    description: "Any JSON value. An identity field is a string, or an array of strings when there are several values.",
  },
} as const;

/** `meta` of the answer to an entity read. */
export const entityMetaSchema = {
  title: "EntityMeta",
  type: "object",
  properties: {
    by_fields: { type: "array", items: { type: "string" }, description: "Identity fields of the table." },
    format: { type: "string", const: "json" },
    name: { type: "string", description: "The table." },
  },
  required: ["by_fields", "format", "name"],
  additionalProperties: false,
} as const;

/** Query parameters of an entity read. */
export const entityQuery = {
  fields: { type: "string", description: "Names of the attributes to return, divided by commas. All by default." },
  segments: { type: "boolean", default: true, description: "Whether to include the segments." },
  meta: { type: "boolean", default: true, description: "Whether to include `meta`." },
  download: { type: "boolean", default: false, description: "Whether the answer is to be saved as a file." },
} as const;
