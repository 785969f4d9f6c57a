import { Type } from "@sinclair/typebox";
import { type Identity, identityField, identityOf } from "../../entities/identity.js";
import { type Table, type Tables, tableNamed } from "../../entities/tables.js";
import { invalid } from "../../errors.js";
import { exampleNames } from "../openapi.js";

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
  const field = identityField(table, fieldname ?? table.defaultIdentity);
  if (field === undefined) {
    const known = table.identities.map(({ name }) => name).join(", ");
    throw invalid("not_an_identity", "fieldname", `Must be an identity field of the table: ${known}`);
  }
  return { table, identity: identityOf(table, field, fieldval, identityBytes) };
}
