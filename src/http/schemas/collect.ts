import { problemSchema } from "./envelope.js";

/** One message to collect. */
export const messageSchema = {
  title: "Message",
  type: "object",
  description:
    "Attributes by name, any JSON value (`null` removes the attribute), and at least one identity field of the table: " +
    "a string, a number, or an array of them.",
  properties: {
    segments: {
      description: "The full list of segment ids, or what the entity joined and left. Null counts as absent.",
      oneOf: [
        { type: "array", items: { type: "string" } },
        {
          title: "SegmentChange",
          type: "object",
          properties: {
            add: { type: "array", items: { type: "string" } },
            remove: { type: "array", items: { type: "string" } },
          },
          additionalProperties: false,
        },
      ],
    },
  },
  additionalProperties: { description: "An identity or an attribute: any JSON value." },
} as const;

/** A body of type `application/json`. */
export const collectBodySchema = { oneOf: [messageSchema, { type: "array", items: messageSchema, minItems: 1 }] };

export const collectQuery = {
  table: { type: "string", minLength: 1, default: "user", description: "The table of the entities." },
  timestamp_field: {
    type: "string",
    minLength: 1,
    description:
      "The attribute that holds the event time: RFC 3339, YYYY-MM-DD, epoch milliseconds (13 digits) or seconds (10). " +
      "A message that has none happened when it arrived.",
  },
  dryrun: {
    type: "boolean",
    default: false,
    description: "Checks and counts the messages, and stores nothing. The answer has the same form.",
  },
} as const;

/** `data` of the answer to a request. */
export const collectTallySchema = {
  title: "CollectTally",
  type: "object",
  properties: {
    message_count: { type: "integer", minimum: 0, description: "Messages that were taken in." },
    rejected_count: { type: "integer", minimum: 0, description: "Messages that were not." },
    errors: {
      type: "array",
      maxItems: 100,
      description: "What is wrong with the first hundred that were rejected, by position: `[0]`, or `line 1`.",
      items: problemSchema,
    },
  },
  required: ["message_count", "rejected_count", "errors"],
  additionalProperties: false,
} as const;
