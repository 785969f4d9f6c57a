import { type Static, Type } from "@sinclair/typebox";
import { type Acceptance, type AcceptManyDependencies, acceptMany } from "../../deletions/accept-many.js";
import { checkedIdentity, DEFAULT_TABLE } from "../../entities/profile/checked-identity.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import type { Identity } from "../../entities/profile/identity.js";
import { invalid, ServiceError } from "../../errors.js";
import { isJsonLines, MAX_LINE_BYTES } from "../core/body.js";
import { exampleNames } from "../core/openapi.js";
import { streamJsonLines } from "../core/response-body.js";
import { errorEnvelope, success, ValidationIssue } from "../core/responses.js";
import { type ApiContext, type ResponseSpec, type Route, route } from "../core/route.js";
import { bodyCheck } from "../core/validation.js";
import { errorResponse, statusOf } from "../edge/errors.js";
import { IdentityInput } from "../entities/named-entity.js";
import { idempotencyKey, repeatNameOf } from "../items/idempotency-key.js";
import { type ItemLimits, type ItemRules, readItems } from "../items/read-items.js";
import { DeletionRequest, deletionReceived } from "./list.js";

export interface ManyDeletionsDependencies extends AcceptManyDependencies {
  readonly tables: Tables;
  readonly limits: ItemLimits;
}

/** Maximum items of a JSON array. */
const MAX_ITEMS = 1_000;

const { field, value } = IdentityInput.properties;

export const DeletionInput = Type.Object(
  {
    table: Type.Optional(Type.String({ default: DEFAULT_TABLE, description: "A configured table." })),
    field,
    value,
  },
  {
    title: "DeletionInput",
    description: "An entity to delete, by one of its identities.",
    additionalProperties: false,
  },
);

/** A number is an identity, too. */
const checkedInput = bodyCheck(Type.Object({ ...DeletionInput.properties, value: Type.Unsafe<string>({}) }), "An item");

/** One schema for both: generated clients cannot distinguish two schemas without a discriminating field. */
export const ReceivedDeletion = Type.Unsafe<
  Static<typeof DeletionRequest> | { errors: Static<typeof ValidationIssue>[] }
>({
  title: "ReceivedDeletion",
  type: "object",
  description: "The deletion request of an item, or the `errors` of an item that is rejected.",
  additionalProperties: false,
  properties: { ...DeletionRequest.properties, errors: Type.Array(ValidationIssue, { minItems: 1 }) },
});

const listAnswer = success("DeletionsReceivedAnswer", Type.Array(ReceivedDeletion));

const manyAnswer: ResponseSpec<(typeof listAnswer.content)[string]> = {
  ...listAnswer,
  content: {
    ...listAnswer.content,
    "application/x-ndjson": Type.String({
      format: "binary",
      description:
        'For NDJSON: one line per item, in order, `{ request_id, completed }` or `{ errors }`, then a line `{ type: "end", accepted, rejected }`. A line `{ type: "error", status, message, errors }` ends a response that cannot continue. Without the line `end` the rest of the body was not processed.',
    }) as never,
  },
};

/** The examples of other routes read the person of the first example of collect. */
const exampleItems = [
  { field: exampleNames.field, value: "ben@example.com" },
  { table: exampleNames.table, field: exampleNames.field, value: "nobody@example.com" },
];

/** Route that requests the deletion of many entities. */
export function manyDeletionsRoute(dependencies: ManyDeletionsDependencies): Route {
  const { tables, limits } = dependencies;
  const rules: ItemRules<{ table: string; identity: Identity }> = {
    parse(json) {
      const { table, field, value } = checkedInput(json);
      const input = { table: table ?? DEFAULT_TABLE, field, value };
      const named = checkedIdentity(input, tables);
      return { table: named.table.name, identity: named.identity };
    },
    // The issue of an identity names its field.
    wirePath: (path) => (["", "table", "field"].includes(path) ? path : "value"),
    most: MAX_ITEMS,
    itemBytes: MAX_LINE_BYTES,
    tooLarge: { code: "too_long", message: "The item is too long" },
  };

  return route({
    method: "POST",
    path: "/api/deletion",
    scopes: ["entity:delete"],
    docs: {
      id: "deleteEntities",
      tag: "deletion",
      summary: "Delete many entities permanently",
      description:
        "Use it to delete many people, and to keep identities out of URLs. The body is an array of up to 1,000 items, a single item, or NDJSON with any number of items, which is answered with NDJSON. Each item is a deletion of its own, as with DELETE; an invalid item is reported in its place, and the others are accepted. Each accepted request is durable when its result is sent. Results are the same for known and unknown entities. Send an `Idempotency-Key` to retry safely: a repeat returns the same request ids. Errors: 400 `empty`, `not_json`, `invalid_idempotency_key`; 413 `too_large`; 422 `unprocessable`; 503 `unavailable`; 507 `out_of_space`. Codes of rejected items include `unknown_table`, `not_an_identity`, `invalid_identity`, `placeholder_identity`.",
    },
    headers: idempotencyKey("each item has the request id of the first run, and its present `completed`."),
    stream: {
      "application/json": {
        schema: Type.Array(DeletionInput, { minItems: 1, maxItems: MAX_ITEMS }),
        examples: { several: exampleItems },
      },
      "application/x-ndjson": {
        schema: Type.String({ description: "One item per line." }),
        examples: { lines: exampleItems.map((item) => JSON.stringify(item)).join("\n") },
      },
    },
    responses: { 200: manyAnswer, 422: errorEnvelope },
    async handler({ ctx }) {
      const repeatName = repeatNameOf(ctx);
      const isLines = isJsonLines(ctx);
      const { single, ...items } = await readItems(ctx, rules, limits);
      const results = acceptMany(dependencies, { ...items, late: ctx.state.deadline.signal, repeatName });
      if (isLines) {
        await streamJsonLines(ctx, pagesOf(ctx, results), (lines) => lines);
        return undefined;
      }
      const all: Acceptance[] = [];
      for await (const batch of results) all.push(...batch);
      refuseUnlessAnyAccepted(all, single);
      return { data: all.map(received), message: deletionReceived };
    },
  });
}

/** Issues of one error response. */
const MAX_ISSUES = 100;

function refuseUnlessAnyAccepted(all: readonly Acceptance[], single: boolean): void {
  if (all.length === 0) throw invalid("empty", "", "The request has no items");
  const issues = all.flatMap((result) => ("issue" in result ? [result.issue] : []));
  if (issues.length < all.length) return;
  const message = single ? "The item was rejected" : "Every item was rejected";
  throw new ServiceError("invalid", message, { issues: issues.slice(0, MAX_ISSUES) });
}

function received(result: Acceptance): Static<typeof ReceivedDeletion> {
  return "issue" in result ? { errors: [result.issue] } : { request_id: result.requestId, completed: result.completed };
}

/**
 * Yields the lines of a response batch by batch. Once 200 is sent, a failure that the caller can correct ends the
 * response with a line; any other failure aborts it. The deadline does not count the time in which the caller reads.
 */
async function* pagesOf(
  { state: { deadline } }: ApiContext,
  results: AsyncIterable<readonly Acceptance[]>,
): AsyncGenerator<readonly object[]> {
  let count = 0;
  let accepted = 0;
  try {
    for await (const batch of results) {
      count += batch.length;
      accepted += batch.filter((result) => !("issue" in result)).length;
      deadline.pause();
      yield batch.map(received);
      deadline.resume();
    }
    deadline.pause();
    yield [{ type: "end", accepted, rejected: count - accepted }];
  } catch (error) {
    if (count === 0 || !(error instanceof ServiceError) || statusOf[error.kind] >= 500) throw error;
    yield [{ type: "error", ...errorResponse(error).body }];
  } finally {
    deadline.pause();
  }
}
