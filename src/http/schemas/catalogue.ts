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
  title: "SegmentInput",
  type: "object",
  description: "A segment of the catalogue.",
  additionalProperties: false,
  properties: {
    name,
    table: { type: "string", description: "The table whose entities are its members; `user` when it is absent." },
  },
} as const;

export const experienceBodySchema = {
  title: "ExperienceInput",
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
  title: "Segment",
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
  title: "SegmentSize",
  type: "object",
  required: ["id", "name", "size"],
  properties: { id, name, size: segmentSchema.properties.size },
} as const;

export const experienceSchema = {
  title: "Experience",
  type: "object",
  required: ["id", "name", "group", "audience", "goal"],
  properties: { id, name, group: { type: ["string", "null"] }, audience: id, goal: id },
} as const;

/** `data` of the response to a DELETE. */
export const removedSchema = { title: "Removed", type: "object", required: ["id"], properties: { id } } as const;
