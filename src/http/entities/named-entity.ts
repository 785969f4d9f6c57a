import { Type } from "@sinclair/typebox";
import { fieldNamed } from "../../entities/profile/checked-identity.js";
import { type Table, type Tables, tableNamed } from "../../entities/profile/entity-tables.js";
import { type Identity, identityOf } from "../../entities/profile/identity.js";
import { exampleNames } from "../core/openapi.js";

const pathPart = (description: string, example: string) =>
  Type.String({ minLength: 1, description, examples: [example] });

/** Path parameters that identify an entity. */
export const entityPath = {
  table: pathPart("A configured table, such as `user`.", exampleNames.table),
  fieldname: pathPart("An identity field of the table.", exampleNames.field),
  fieldval: pathPart("The identity, without control characters.", exampleNames.value),
};

/** An entity as identified by a path. */
export interface NamedEntity {
  readonly table: string;
  /** Default: the table's default identity. */
  readonly fieldname?: string;
  readonly fieldval: string;
}

/** Returns the table and the identity. Throws when the table, the field or the identity is invalid. */
export function namedIdentity(
  { table: tableName, fieldname, fieldval }: NamedEntity,
  tables: Tables,
): { table: Table; identity: Identity } {
  const table = tableNamed(tables, tableName);
  const field = fieldNamed(table, fieldname ?? table.defaultIdentity, "fieldname");
  return { table, identity: identityOf(table, field, fieldval) };
}

/** An entity as identified by a body. */
export const IdentityInput = Type.Object(
  {
    table: Type.String({ description: "A configured table, such as `user`." }),
    field: Type.String({ description: "An identity field of the table." }),
    value: Type.String({ description: "The identity, without control characters." }),
  },
  {
    title: "IdentityInput",
    description: "An identity, in the body so that no URL contains it.",
    additionalProperties: false,
  },
);

export const identityExamples = {
  identity: { table: exampleNames.table, field: exampleNames.field, value: exampleNames.value },
};
