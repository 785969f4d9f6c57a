import { invalid } from "../../errors.js";
import { type IdentityField, noSuchTable, type Table, type Tables } from "./entity-tables.js";
import { type Identity, identityField, identityOf } from "./identity.js";

/** Table of an identity to delete, or of a segment, that names none. */
export const DEFAULT_TABLE = "user";

/** An entity as identified by a body or a line of a file. */
export interface GivenIdentity {
  readonly table: string;
  readonly field: string;
  readonly value: unknown;
}

/** Returns the table and the identity. Throws `invalid` for any error. */
export function checkedIdentity(
  { table: tableName, field, value }: GivenIdentity,
  tables: Tables,
): { table: Table; identity: Identity } {
  const table = checkedTable(tableName, tables);
  return { table, identity: identityOf(table, fieldNamed(table, field, "field"), value) };
}

/** Returns the table with this name, or the default one. Throws `invalid` when there is none. */
export function checkedTable(name: string | undefined, tables: Tables): Table {
  const table = tables.get(name ?? DEFAULT_TABLE);
  if (table === undefined) throw invalid("unknown_table", "table", noSuchTable(tables));
  return table;
}

/** Returns the identity field with this name. Throws with `path` when the table has none. */
export function fieldNamed(table: Table, name: string, path: string): IdentityField {
  const field = identityField(table, name);
  if (field !== undefined) return field;
  const known = table.identities.map(({ name }) => name).join(", ");
  throw invalid("not_an_identity", path, `${path} must be an identity field of the table: ${known}`);
}
