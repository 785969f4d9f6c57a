import { type Static, Type } from "@sinclair/typebox";
import { checkedIdentity } from "../../entities/profile/checked-identity.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import {
  type ExplainDependencies,
  type ExplainedMembership,
  explainSegments,
} from "../../entities/read/explain-membership.js";
import { type ExportDependencies, type Exported, exportEntity } from "../../entities/read/export-entity.js";
import { found } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { streamJsonLines } from "../core/response-body.js";
import { done, orNull, success, Time, TimeOrNull } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { entityPath, IdentityInput, identityExamples, namedIdentity } from "./named-entity.js";

export type AccountRouteDependencies = ExplainDependencies &
  ExportDependencies & {
    readonly tables: Tables;
  };

const Reason = Type.Unsafe<
  | { stream: string | null; event_time: string; received_at: string }
  | { rule: { readonly [field: string]: unknown }; until: string | null }
  | null
>({
  type: ["object", "null"],
  properties: {
    stream: orNull(Type.String({ description: "Stream of the message; null when the message is no longer stored." })),
    event_time: Time("Event time of the message."),
    received_at: Time("Arrival of the message."),
    rule: {
      type: "object",
      additionalProperties: {},
      description: "The rule, with `holds` in it and in each condition of it.",
    },
    until: TimeOrNull("When the decision can change by time alone; never late. Null if it cannot."),
  },
  title: "SegmentReason",
  description:
    "The newest message that states the membership. For a segment by rule `rule` and `until`; null for a key with the bound `fields`.",
  additionalProperties: false,
});

export const ExplainedSegment = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    member: Type.Boolean({ description: "Whether the entity is a member." }),
    since: Type.Optional(Time("Start of the membership; absent without one.")),
    by: Reason,
  },
  { title: "ExplainedSegment", additionalProperties: false },
);

const exportLines = Type.String({
  format: "binary",
  description:
    "A line `profile` with identities, attributes and segments, a line `message` per stored message, by arrival, and a line `end` with their number. Without that line the export is incomplete: the response was aborted, or the profile was erased or merged during the export.",
});

/** Routes that explain an entity's segments and export its data. */
export function accountRoutes(dependencies: AccountRouteDependencies): readonly Route[] {
  const { tables } = dependencies;
  return [
    route({
      method: "GET",
      path: "/api/entity/:table/:fieldname/:fieldval/segments",
      scopes: ["entity:read"],
      within: { fields: (fields) => fields.includes("segments"), by: (by, { fieldname }) => fieldname === by },
      docs: {
        id: "explainSegments",
        tag: "entities",
        summary: "Explain an entity's segments",
        description:
          "Use it to find the message, or the conditions of the rule, behind each membership. With `id`, also why an entity is not in a segment by rule. Errors: 400 `not_an_identity`; 403 `forbidden` if the key is bound to another identity field, or to fields without `segments`; 404 `unknown_table`, `not_found`.",
      },
      params: entityPath,
      query: {
        id: Type.Optional(
          Type.String({ description: "Only this segment; one by rule also if the entity is not a member of it." }),
        ),
      },
      unknownQuery: "ignore",
      responses: { 200: success("ExplainedSegmentsAnswer", Type.Array(ExplainedSegment)) },
      async handler({ ctx, params, query: { id: only } }) {
        const { table, identity } = namedIdentity(params, tables);
        const { bounds, memory } = ctx.state;
        const options = { only, withRules: bounds.fields === undefined };
        const segments = found(await explainSegments(dependencies, table, identity, options, memory), "entity");
        return { data: segments.map(toWire) };
      },
    }),
    route({
      method: "POST",
      path: "/api/entity/export",
      scopes: ["entity:export"],
      docs: {
        id: "exportEntity",
        tag: "entities",
        summary: "Export all data of an entity",
        description:
          "Use it to answer a request for access to personal data. Streams JSON lines. Errors: 400 `unknown_table`, `not_an_identity`; 404 `not_found`.",
      },
      body: { schema: IdentityInput, examples: identityExamples },
      responses: { 200: done({ "application/x-ndjson": exportLines }) },
      async handler({ ctx, body }) {
        const { table, identity } = checkedIdentity(body, tables);
        const pages = found(await exportEntity(dependencies, table, identity, ctx.state.memory), "entity");
        await streamJsonLines(ctx, pages, (page) => page.map(lineOf));
        return undefined;
      },
    }),
  ];
}

function toWire({ id, name, member, since, by }: ExplainedMembership): Static<typeof ExplainedSegment> {
  const row = { id, name, member, ...(since === undefined ? {} : { since: timeText(since) }) };
  if (by === null) return { ...row, by };
  if ("rule" in by) {
    const { rule, until } = by;
    return { ...row, by: { rule: { ...rule }, until: until === Number.POSITIVE_INFINITY ? null : timeText(until) } };
  }
  const { time, arrival, stream = null } = by;
  return { ...row, by: { stream, event_time: timeText(time), received_at: timeText(arrival) } };
}

function lineOf(line: Exported): object {
  if (line.type === "end") return line;
  if (line.type === "message") {
    const { type, stream, time, arrival, body } = line;
    return { type, stream, event_time: timeText(time), received_at: timeText(arrival), body };
  }
  const { attributes, segments } = line;
  return {
    ...line,
    attributes: Object.fromEntries(attributes.map(({ name, value, at }) => [name, { value, at: timeText(at) }])),
    segments: segments.map((segment) => ({ ...segment, since: timeText(segment.since) })),
  };
}
