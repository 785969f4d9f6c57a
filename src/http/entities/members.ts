import { Type } from "@sinclair/typebox";
import type { CatalogueStore } from "../../catalogue/ports.js";
import { listMembers, type Member, type MembersDependencies } from "../../entities/read/list-members.js";
import { found } from "../../errors.js";
import { timeText } from "../../formats/instant.js";
import { exampleNames } from "../core/openapi.js";
import { streamJsonLines } from "../core/response-body.js";
import { done } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export type MemberRouteDependencies = MembersDependencies & { readonly segments: Pick<CatalogueStore, "segmentsById"> };

export const MembersInput = Type.Object(
  {
    fields: Type.Optional(
      Type.Array(Type.String(), {
        description: "Attributes in each line. Default: none.",
      }),
    ),
    after: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{32}$",
        description: "`next` in the last line of the previous response.",
        issue: { code: "invalid_value", message: "after must be `next` of the last line of the previous response" },
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "Maximum members. Default: all." }),
    ),
  },
  { title: "MembersInput", description: "Selection of members and their attributes.", additionalProperties: false },
);

const memberLines = Type.String({
  format: "binary",
  description:
    'One line per member, `{ identities: { field: [values] }, attributes, since }`, in a stable order, and a line `{ type: "end", members, next }`. Without that line the response was aborted.',
});

/** Route that lists the members of a segment. */
export function memberRoutes(dependencies: MemberRouteDependencies): readonly Route[] {
  return [
    route({
      method: "POST",
      path: "/api/segment/:id/members",
      scopes: ["entity:export"],
      docs: {
        id: "listMembers",
        tag: "entities",
        summary: "List the members of a segment",
        description:
          "Use it to export an audience. Streams JSON lines. A line written after a DELETE was answered never contains that person. Errors: 400 `invalid_value`, `unknown_field`; 404 `not_found`.",
      },
      params: { id: Type.String({ description: "The segment.", examples: [exampleNames.audience] }) },
      body: { schema: MembersInput, optional: true, examples: { some: { fields: ["plan"], limit: 10 } } },
      responses: { 200: done({ "application/x-ndjson": memberLines }) },
      async handler({ ctx, params: { id }, body: page }) {
        found((await dependencies.segments.segmentsById([id])).get(id), "segment");
        const pieces = listMembers(dependencies, id, page, ctx.state.memory);
        await streamJsonLines(ctx, pieces, (listed) =>
          "members" in listed
            ? listed.members.map(lineOf)
            : [{ type: "end", members: listed.count, next: listed.next }],
        );
        return undefined;
      },
    }),
  ];
}

/** Names are chosen by senders, so properties are never assigned. */
function lineOf({ identities, attributes, since }: Member): object {
  return {
    identities: Object.fromEntries(identities),
    ...(attributes === undefined ? {} : { attributes: Object.fromEntries(attributes) }),
    since: timeText(since),
  };
}
