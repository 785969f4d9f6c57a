import { Type } from "@sinclair/typebox";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { type ExplainParts, explainSegments } from "../../entities/read/explain-membership.js";
import { type Exported, type ExportParts, exportEntity } from "../../entities/read/export-entity.js";
import { found } from "../../errors.js";
import { streamPieces } from "../core/response-body.js";
import { done, success, Time, timeText } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { entityPath, IdentityInput, identityExamples, identityInBody, namedIdentity } from "./named-entity.js";

export type AccountRouteParts = ExplainParts &
  ExportParts & {
    readonly tables: Tables;
    /** `limits.identity_bytes`. */
    readonly identityBytes: number;
  };

const Reason = Type.Object(
  {
    stream: Type.Unsafe<string | null>({
      type: ["string", "null"],
      description: "Where it was sent; null when the message is not kept any more.",
    }),
    event_time: Time("The event time of the message."),
    received_at: Time("When it arrived."),
  },
  { title: "SegmentReason", description: "The newest message that says so.", additionalProperties: false },
);

const ExplainedSegment = Type.Object(
  { id: Type.String(), name: Type.String(), since: Time("Since when."), by: Reason },
  { title: "ExplainedSegment", additionalProperties: false },
);

const exportLines = Type.String({
  format: "binary",
  description:
    "A line `profile` with identities, attributes and segments, a line `message` for each message that is kept, by arrival, and a line `end` that counts them. Without that line something is missing: the answer was cut, or the profile was erased or merged meanwhile.",
});

/** Why an entity is in its segments, and everything that is kept about it. */
export function accountRoutes(parts: AccountRouteParts): readonly Route[] {
  const { tables, identityBytes } = parts;
  const explain = explainSegments(parts);
  const exportAll = exportEntity(parts);
  return [
    route({
      method: "GET",
      path: "/api/entity/:table/:fieldname/:fieldval/segments",
      scopes: ["entity:read"],
      docs: { id: "explainSegments", tag: "entities", summary: "Why an entity belongs to its segments" },
      params: entityPath,
      responses: { 200: success("ExplainedSegmentsAnswer", Type.Array(ExplainedSegment)) },
      async handler({ params }) {
        const { table, identity } = namedIdentity(params, tables, identityBytes);
        const segments = found(await explain(table, identity));
        return {
          data: segments.map(({ id, name, since, arrival, stream = null }) => ({
            id,
            name,
            since: timeText(since),
            by: { stream, event_time: timeText(since), received_at: timeText(arrival) },
          })),
        };
      },
    }),
    route({
      method: "POST",
      path: "/api/entity/export",
      scopes: ["entity:export"],
      docs: {
        id: "exportEntity",
        tag: "entities",
        summary: "Everything that is kept about one entity",
        description: "The right of access: streamed as lines of JSON.",
      },
      body: { schema: IdentityInput, examples: identityExamples },
      responses: { 200: done({ "application/x-ndjson": exportLines }) },
      async handler({ ctx, body }) {
        const { table, identity } = identityInBody(body, tables, identityBytes);
        const pages = found(await exportAll(table, identity));
        ctx.status = 200;
        ctx.set({ "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" });
        await streamPieces(ctx, texts(pages));
        return undefined;
      },
    }),
  ];
}

/** The lines as text, many at once: each piece costs a write. */
async function* texts(pages: AsyncIterable<readonly Exported[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map((one) => `${JSON.stringify(lineOf(one))}\n`).join("");
}

function lineOf(one: Exported): object {
  if (one.type === "end") return one;
  if (one.type === "message") {
    const { type, stream, time, arrival, body } = one;
    return { type, stream, event_time: timeText(time), received_at: timeText(arrival), body };
  }
  const { attributes, segments } = one;
  return {
    ...one,
    attributes: Object.fromEntries(attributes.map(({ name, value, at }) => [name, { value, at: timeText(at) }])),
    segments: segments.map((segment) => ({ ...segment, since: timeText(segment.since) })),
  };
}
