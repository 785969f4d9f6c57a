import { Type } from "@sinclair/typebox";
import type { Limits } from "../../config/settings.js";
import { type CollectRequestDependencies, collectRequest } from "../../entities/collect/collect-request.js";
import {
  MAX_SEGMENTS,
  MESSAGE_MEMORY_BYTES,
  type MessageRules,
  type ParsedMessage,
  parseMessage,
} from "../../entities/collect/parse-message.js";
import { type Tables, tableNamed } from "../../entities/profile/entity-tables.js";
import { invalid, ServiceError } from "../../errors.js";
import { instantForms } from "../../formats/instant.js";
import { dimensionIdRule, streamNamePattern, streamNameRule } from "../../reserved-names.js";
import { MAX_NESTING } from "../core/json-body.js";
import { exampleNames } from "../core/openapi.js";
import { errorEnvelope, success, ValidationIssue } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { idempotencyKey, repeatNameOf } from "../items/idempotency-key.js";
import { type ItemLimits, type ItemRules, readItems } from "../items/read-items.js";

export interface CollectRouteDependencies extends CollectRequestDependencies {
  readonly tables: Tables;
  readonly limits: ItemLimits & Pick<Limits, "batch_messages">;
}

const streamName = Type.String({
  pattern: streamNamePattern,
  description: "Stream that the messages are counted for.",
  examples: [exampleNames.stream],
  issue: { code: "invalid_stream", message: streamNameRule },
});

const segmentIds = (options: Readonly<Record<string, unknown>>) => ({
  type: "array",
  items: { type: "string", minLength: 1, maxLength: 256, description: dimensionIdRule },
  maxItems: MAX_SEGMENTS,
  ...options,
});

/**
 * Documented form. The service also accepts one list without the other. Both are required here because clients of
 * typescript-fetch distinguish the object from a list by its required fields.
 */
const SegmentChange = {
  title: "SegmentChange",
  type: "object",
  required: ["add", "remove"],
  properties: {
    add: segmentIds({ description: "Ids of the segments that the entity entered." }),
    remove: segmentIds({ description: "Ids of the segments that the entity left." }),
  },
  additionalProperties: false,
};

const MessageInput = Type.Object(
  {
    segments: Type.Optional(
      Type.Unsafe<unknown>({
        description: "The full list of segment ids, or the ids that the entity entered and left.",
        oneOf: [
          segmentIds({ type: ["array", "null"], description: "The full list; null counts as absent." }),
          SegmentChange,
        ],
      }),
    ),
  },
  {
    title: "MessageInput",
    description:
      "Attributes by name, any JSON value (`null` removes the attribute), and at least one identity field of the table: " +
      "a string without control characters, a number, or an array of them.",
    minProperties: 1,
    additionalProperties: Type.Unknown({ description: "An identity or an attribute: any JSON value." }),
  },
);

/**
 * Documented body of type `application/json`. The service also accepts a single object, but client generators fail on a
 * choice between an object and an array of it.
 */
const messagesBody = (most: number) => Type.Array(MessageInput, { minItems: 1, maxItems: most });

const collectQuery = {
  table: Type.String({ minLength: 1, default: "user", description: "The table of the entities." }),
  timestamp_field: Type.Optional(
    Type.String({
      minLength: 1,
      description: `The attribute that holds the event time: an ${instantForms}. Default: the arrival.`,
    }),
  ),
  dryrun: Type.Boolean({
    default: false,
    description: "Whether to validate and count the messages without storing them. The response has the same form.",
  }),
};

/** `data` of the response. */
export const CollectTally = Type.Object(
  {
    message_count: Type.Integer({ minimum: 0, description: "Accepted messages." }),
    rejected_count: Type.Integer({ minimum: 0, description: "Rejected messages." }),
    left_out: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          "Identities that were left out of accepted messages because they belong to another person; absent when 0.",
      }),
    ),
    errors: Type.Array(ValidationIssue, {
      maxItems: 100,
      description: "Issues of the first 100 rejected messages, by position: `[0]`, or `line 1`.",
    }),
  },
  { title: "CollectTally", additionalProperties: false },
);

/** Routes that collect messages about entities. A response means that the messages are durable, applied and counted. */
export function collectRoutes(dependencies: CollectRouteDependencies): readonly Route[] {
  const { tables, limits } = dependencies;
  return [
    route({
      method: "POST",
      path: "/collect/json/:stream",
      scopes: ["entity:write"],
      within: { stream: (bound, { stream }) => stream === bound },
      docs: {
        id: "collectMessages",
        tag: "collecting",
        summary: "Collect messages about entities",
        description:
          "Use it to send profile data. The body is an array of messages (up to 10,000 by default), a single message, or NDJSON with any number of messages. Invalid messages are reported by position and the others are applied. A 200 means durable, applied and counted. Send an `Idempotency-Key` to retry safely. Errors: 400 `empty`, `not_json`, `invalid_stream`; 403 `forbidden` if the key is bound to another stream; 404 `unknown_table`; 413 `too_large`; 422 `unprocessable`. Codes of rejected messages include `no_identity`, `invalid_identity`, `invalid_time`, `time_ahead`, `invalid_segments`, `outside_bound`.",
      },
      params: {
        stream: streamName,
      },
      query: collectQuery,
      headers: idempotencyKey("messages that were applied are skipped, the others are processed."),
      stream: {
        "application/json": { schema: messagesBody(limits.batch_messages), examples: messageExamples },
        "application/x-ndjson": {
          schema: Type.String({ description: "One JSON message per line." }),
          examples: { lines: messageExamples.several.map((message) => JSON.stringify(message)).join("\n") },
        },
      },
      responses: { 200: success("CollectAnswer", CollectTally), 422: errorEnvelope },
      async handler({ ctx, params: { stream }, query: { table: name, timestamp_field, dryrun: dryRun } }) {
        const table = tableNamed(tables, name);
        const rules = { table, onlyField: ctx.state.bounds.by, timestampField: timestamp_field };
        const repeatName = repeatNameOf(ctx);
        const { single, ...messages } = await readItems(ctx, itemRules(rules, limits.batch_messages), limits);
        const { signal: late } = ctx.state.deadline;
        const tally = await collectRequest(dependencies, { stream, table, ...messages, late, repeatName, dryRun });
        if (single && tally.rejected > 0) {
          throw new ServiceError("invalid", "The message was rejected", { issues: tally.errors });
        }
        const { taken, rejected, leftOut, errors } = tally;
        const left_out = leftOut > 0 ? { left_out: leftOut } : {};
        return { data: { message_count: taken, rejected_count: rejected, ...left_out, errors } };
      },
    }),
  ];
}

function itemRules(rules: Omit<MessageRules, "nesting">, most: number): ItemRules<ParsedMessage> {
  if (rules.timestampField === "" || rules.timestampField === "segments") {
    throw invalid("invalid_timestamp_field", "timestamp_field", "Must be the name of an attribute");
  }
  return {
    parse: (json) => parseMessage(json, { ...rules, nesting: MAX_NESTING }),
    wirePath: (path) => (path === "timestampField" ? "timestamp_field" : path),
    most,
    itemBytes: MESSAGE_MEMORY_BYTES,
    tooLarge: { code: "entity_too_large", message: "The message has too many values" },
  };
}

const { field, value, defaultValue, audience, goal, spare } = exampleNames;

const message = { _uid: defaultValue, [field]: value, plan: "trial", segments: [audience, goal, spare] };

/** The examples of other routes depend on the first one. */
const messageExamples = {
  one: [message],
  several: [message, { [field]: "ben@example.com", plan: "paid", segments: [audience] }],
};
