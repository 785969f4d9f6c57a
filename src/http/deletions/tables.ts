import { Type } from "@sinclair/typebox";
import type { Table, Tables } from "../../entities/profile/entity-tables.js";
import { oneOf, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";

const normalForms = ["text", "email"] as const;

const Names = (description: string) => Type.Array(Type.String(), { description });

export const TableInfo = Type.Object(
  {
    name: Type.String(),
    identities: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          normal_form: oneOf(normalForms, {
            description: "`text` is NFC and trimmed; `email` is lower-cased, too, and has the form of an address.",
          }),
        },
        { title: "IdentityField", additionalProperties: false },
      ),
      { description: "Identity fields, in the order of the configuration." },
    ),
    default_identity: Type.String({ description: "Identity field of a request that names none." }),
    strongest_first: Names("The identity fields by strength. The first with a value names the entity of a row."),
    protected: Names("Identity fields of which two values are two entities, unless a message names both."),
    max_values: Type.Integer({ minimum: 1, description: "Maximum values of one identity field of an entity." }),
    nobody: Names("Values that identify no one, in addition to the common ones."),
    common_nobody: Type.Boolean({ description: "Whether the common values, such as `null`, identify no one." }),
  },
  { title: "Table", description: "A kind of entity as configured.", additionalProperties: false },
);

/** Route with which programs check the identities of a file as the service does, before they request deletions. */
export function tablesRoute(tables: Tables): Route {
  return route({
    method: "GET",
    path: "/api/table",
    scopes: ["entity:delete"],
    docs: {
      id: "listTables",
      tag: "deletion",
      summary: "List the tables and their identity fields",
      description:
        "Use it to check the identities of a file before their deletion is requested, as `npm run erase` and the dashboard do. In the order of the configuration.",
    },
    responses: { 200: success("TablesAnswer", Type.Array(TableInfo)) },
    handler: () => ({ data: [...tables.values()].map(infoOf) }),
  });
}

function infoOf(table: Table) {
  return {
    name: table.name,
    identities: table.identities.map(({ name, normalForm }) => ({ name, normal_form: normalForm })),
    default_identity: table.defaultIdentity,
    strongest_first: [...table.strongestFirst],
    protected: [...table.protectedFields],
    max_values: table.maxValues,
    nobody: [...table.nobody],
    common_nobody: table.hasCommonNobody,
  };
}
