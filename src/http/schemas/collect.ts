/** One message to collect. */
export const messageSchema = {
  type: "object",
  description:
    "Attributes by name, any JSON value (`null` removes the attribute), and at least one identity field of the table: " +
    "a string, a number, or an array of them.",
  properties: {
    segments: {
      description: "The full list of segment ids, or what the entity joined and left.",
      oneOf: [
        { type: "array", items: { type: "string" } },
        {
          type: "object",
          properties: {
            add: { type: "array", items: { type: "string" } },
            remove: { type: "array", items: { type: "string" } },
          },
          additionalProperties: false,
        },
        { type: "null" },
      ],
    },
  },
  additionalProperties: true,
} as const;

/** A body of type `application/json`; of type `application/x-ndjson` it is one message a line. */
export const collectBodySchema = { oneOf: [messageSchema, { type: "array", items: messageSchema, minItems: 1 }] };

export const collectQuery = {
  table: { type: "string", default: "user", description: "The table of the entities." },
  timestamp_field: {
    type: "string",
    description:
      "The attribute that holds the event time: RFC 3339, YYYY-MM-DD, epoch milliseconds (13 digits) or seconds (10). " +
      "A message that has none happened when it arrived.",
  },
} as const;

export const streamNamePattern = "^[A-Za-z0-9_.-]{1,128}$";

/** `data` of the answer to a request. */
export const collectTallySchema = {
  type: "object",
  properties: {
    message_count: { type: "integer", minimum: 0, description: "Messages that were taken in." },
    rejected_count: { type: "integer", minimum: 0, description: "Messages that were not." },
    errors: {
      type: "array",
      maxItems: 100,
      description: "What is wrong with the first hundred that were rejected, by position: `[0]`, or `line 1`.",
      items: {
        type: "object",
        properties: { code: { type: "string" }, path: { type: "string" }, message: { type: "string" } },
        required: ["code", "path", "message"],
        additionalProperties: false,
      },
    },
  },
  required: ["message_count", "rejected_count", "errors"],
  additionalProperties: false,
} as const;
