import { Type } from "@sinclair/typebox";
import { instantForms } from "../../formats/instant.js";
import { ValidationIssue } from "../responses.js";

const Texts = Type.Array(Type.String());

const SegmentChange = Type.Object(
  { add: Type.Optional(Texts), remove: Type.Optional(Texts) },
  { title: "SegmentChange", additionalProperties: false },
);

/** One message to collect. */
const Message = Type.Object(
  {
    segments: Type.Optional(
      Type.Unsafe<unknown>({
        description: "The full list of segment ids, or what the entity joined and left. Null counts as absent.",
        oneOf: [Texts, SegmentChange],
      }),
    ),
  },
  {
    title: "Message",
    description:
      "Attributes by name, any JSON value (`null` removes the attribute), and at least one identity field of the table: " +
      "a string, a number, or an array of them.",
    additionalProperties: Type.Unknown({ description: "An identity or an attribute: any JSON value." }),
  },
);

/** A body of type `application/json`, for the document. */
export const MessagesBody = Type.Unsafe<unknown>({ oneOf: [Message, Type.Array(Message, { minItems: 1 })] });

export const collectQuery = {
  table: Type.String({ minLength: 1, default: "user", description: "The table of the entities." }),
  timestamp_field: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        `The attribute that holds the event time: an ${instantForms}. ` +
        "A message that has none happened when it arrived.",
    }),
  ),
  dryrun: Type.Boolean({
    default: false,
    description: "Checks and counts the messages, and stores nothing. The answer has the same form.",
  }),
};

/** `data` of the answer to a request. */
export const CollectTally = Type.Object(
  {
    message_count: Type.Integer({ minimum: 0, description: "Messages that were taken in." }),
    rejected_count: Type.Integer({ minimum: 0, description: "Messages that were not." }),
    errors: Type.Array(ValidationIssue, {
      maxItems: 100,
      description: "What is wrong with the first hundred that were rejected, by position: `[0]`, or `line 1`.",
    }),
  },
  { title: "CollectTally", additionalProperties: false },
);
