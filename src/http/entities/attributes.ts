import { Type } from "@sinclair/typebox";
import { checkedTable } from "../../entities/profile/checked-identity.js";
import type { Tables } from "../../entities/profile/entity-tables.js";
import { attributeTypes, listAttributes } from "../../entities/read/list-attributes.js";
import type { SampleProfiles } from "../../entities/read/sample-profiles.js";
import { oneOf, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

export interface AttributeRouteDependencies {
  readonly sample: SampleProfiles;
  readonly tables: Tables;
}

export const Attribute = Type.Object(
  {
    name: Type.String(),
    types: Type.Array(oneOf(attributeTypes), { description: "JSON types of its values; a `list` is an array." }),
    share: Type.Number({ minimum: 0, maximum: 1, description: "Share of the profiles that have it." }),
  },
  { title: "Attribute", additionalProperties: false },
);

/** Route that lists the attributes of a table. */
export function attributeRoutes({ sample, tables }: AttributeRouteDependencies): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/attribute",
      scopes: ["entity:read"],
      alsoScope: "metric:read",
      within: { by: () => true },
      docs: {
        id: "listAttributes",
        tag: "entities",
        summary: "List the attributes of a table",
        description:
          "Use it to find names for a rule. Returns up to 1,000 names of attributes, the most frequent first, from 2,000 profiles at random; no identity fields, and never a value. Errors: 400 `unknown_table`; 403 `forbidden` if the key is bound to fields; 429 `too_many_requests` while several such requests wait.",
      },
      query: { table: Type.Optional(Type.String({ description: "Table of the profiles. Default: `user`." })) },
      responses: { 200: success("AttributesAnswer", Type.Array(Attribute)) },
      async handler({ ctx, query: { table } }) {
        const attributes = await listAttributes(sample, checkedTable(table, tables), ctx.state.memory);
        return { data: attributes.map(({ types, ...attribute }) => ({ ...attribute, types: [...types] })) };
      },
    }),
  ];
}
