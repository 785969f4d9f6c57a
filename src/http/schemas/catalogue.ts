const id = {
  type: "string",
  minLength: 1,
  maxLength: 256,
  pattern: "^[^\\p{Cc}\\p{Cs}]*[^\\p{Cc}\\p{Cs}\\\\]$",
  description: "1 to 256 characters, without control characters, not ending in a backslash.",
} as const;

const name = {
  type: "string",
  minLength: 1,
  maxLength: 256,
  pattern: "^[^\\p{Cc}\\p{Cs}]*$",
  description: "1 to 256 characters, without control characters. The id when it is absent.",
} as const;

/** What an id of the catalogue must be. */
export const idSchema = id;

export const segmentBodySchema = {
  type: "object",
  description: "A segment of the catalogue.",
  additionalProperties: false,
  properties: {
    name,
    table: { type: "string", description: "The table whose entities are its members; `user` when it is absent." },
  },
} as const;

export const experienceBodySchema = {
  type: "object",
  description: "An experience: who could see it, and who did what it is for.",
  required: ["audience", "goal"],
  additionalProperties: false,
  properties: {
    name,
    group: { ...id, description: "Id of the experience group that it belongs to." },
    audience: { ...id, description: "Id of the segment that can be reached." },
    goal: { ...id, description: "Id of the segment of those who converted." },
  },
} as const;

export const segmentSchema = {
  type: "object",
  required: ["id", "name", "table", "size"],
  properties: {
    id,
    name,
    table: { type: "string" },
    size: { type: "integer", minimum: 0, description: "Members now." },
  },
} as const;

export const segmentSizeSchema = {
  type: "object",
  required: ["id", "name", "size"],
  properties: { id, name, size: segmentSchema.properties.size },
} as const;

export const experienceSchema = {
  type: "object",
  required: ["id", "name", "group", "audience", "goal"],
  properties: { id, name, group: { type: ["string", "null"] }, audience: id, goal: id },
} as const;

/** What answers say of a list that is handed out in pages. */
export const pageMetaSchema = {
  type: "object",
  required: ["next"],
  properties: {
    next: { type: ["string", "null"], description: "What to give as `after` for the next page; null on the last one." },
  },
} as const;
