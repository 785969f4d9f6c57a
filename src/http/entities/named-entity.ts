import { type Static, Type } from "@sinclair/typebox";
import {
  type IdentityField,
  noSuchTable,
  type Table,
  type Tables,
  tableNamed,
} from "../../entities/profile/entity-tables.js";
import { type Identity, identityField, identityOf } from "../../entities/profile/identity.js";
import { invalid } from "../../errors.js";
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
  identityBytes: number,
): { table: Table; identity: Identity } {
  const table = tableNamed(tables, tableName);
  const field = fieldOf(table, fieldname ?? table.defaultIdentity, "fieldname");
  return { table, identity: identityOf(table, field, fieldval, identityBytes) };
}

/** Returns the identity field with this name. Throws with `path` when the table has none. */
function fieldOf(table: Table, name: string, path: string): IdentityField {
  const field = identityField(table, name);
  if (field !== undefined) return field;
  const known = table.identities.map((one) => one.name).join(", ");
  throw invalid("not_an_identity", path, `${path} must be an identity field of the table: ${known}`);
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

export const identityExamples = () => ({
  identity: { table: exampleNames.table, field: exampleNames.field, value: exampleNames.value },
});

/** Returns the table and the identity in a body. Throws `invalid` for any error. */
export function identityInBody(
  { table: tableName, field: fieldName, value }: Static<typeof IdentityInput>,
  tables: Tables,
  identityBytes: number,
): { table: Table; identity: Identity } {
  const table = tables.get(tableName);
  if (table === undefined) throw invalid("unknown_table", "table", noSuchTable(tables));
  return { table, identity: identityOf(table, fieldOf(table, fieldName, "field"), value, identityBytes) };
}
