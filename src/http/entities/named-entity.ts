import { type Static, Type } from "@sinclair/typebox";
import { type IdentityField, type Table, type Tables, tableNamed } from "../../entities/profile/entity-tables.js";
import { type Identity, identityField, identityOf } from "../../entities/profile/identity.js";
import { invalid } from "../../errors.js";
import { exampleNames } from "../core/openapi.js";

const pathPart = (description: string, example: string) =>
  Type.String({ minLength: 1, description, examples: [example] });

/** What says which entity is meant. */
export const entityPath = {
  table: pathPart("A table of the configuration, such as `user`.", exampleNames.table),
  fieldname: pathPart("An identity field of the table.", exampleNames.field),
  fieldval: pathPart("The identity.", exampleNames.value),
};

/** What a path says of the entity that is meant. */
export interface NamedEntity {
  readonly table: string;
  /** The table's default identity when it is absent. */
  readonly fieldname?: string;
  readonly fieldval: string;
}

/** The table and the identity of the entity that is meant; refused when there is no such table or field, or no such identity. */
export function namedIdentity(
  { table: tableName, fieldname, fieldval }: NamedEntity,
  tables: Tables,
  identityBytes: number,
): { table: Table; identity: Identity } {
  const table = tableNamed(tables, tableName);
  const field = fieldOf(table, fieldname ?? table.defaultIdentity, "fieldname");
  return { table, identity: identityOf(table, field, fieldval, identityBytes) };
}

/** The identity field of this name; refused, as what stands at `path`, when the table has none. */
function fieldOf(table: Table, name: string, path: string): IdentityField {
  const field = identityField(table, name);
  if (field !== undefined) return field;
  const known = table.identities.map((one) => one.name).join(", ");
  throw invalid("not_an_identity", path, `Must be an identity field of the table: ${known}`);
}

/** What a body says of the entity that is meant. */
export const IdentityInput = Type.Object(
  {
    table: Type.String({ description: "A table of the configuration, such as `user`." }),
    field: Type.String({ description: "An identity field of the table." }),
    value: Type.String({ description: "The identity." }),
  },
  {
    title: "IdentityInput",
    description: "An identity, in a body so that no URL names it.",
    additionalProperties: false,
  },
);

export const identityExamples = () => ({
  identity: { table: exampleNames.table, field: exampleNames.field, value: exampleNames.value },
});

/** The table and the identity that a body names; everything that is wrong with it is `invalid`. */
export function identityInBody(
  { table: tableName, field: fieldName, value }: Static<typeof IdentityInput>,
  tables: Tables,
  identityBytes: number,
): { table: Table; identity: Identity } {
  const table = tables.get(tableName);
  if (table === undefined) throw invalid("unknown_table", "table", "There is no such table");
  return { table, identity: identityOf(table, fieldOf(table, fieldName, "field"), value, identityBytes) };
}
