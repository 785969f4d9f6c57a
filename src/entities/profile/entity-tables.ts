import { ServiceError, StartError } from "../../errors.js";
import { RESERVED_IDENTITY_FIELDS, RESERVED_TABLES } from "../../reserved-names.js";
import { nobodyCheck } from "./nobody.js";

/** Normalization of an identity field: `text` is NFC and trimmed; `email` is also lower-cased. */
export type NormalForm = "text" | "email";

export interface IdentityField {
  readonly name: string;
  readonly normalForm: NormalForm;
}

/** A kind of entity as configured. */
export interface Table {
  readonly name: string;
  /** Identity fields in listing order. */
  readonly identities: readonly IdentityField[];
  /** Identity field that a request without one means. */
  readonly defaultIdentity: string;
  /** Maximum values per identity field of an entity. */
  readonly maxValues: number;
  /**
   * Identity fields of which an entity gets a second value only by a message that names both values: see
   * `joinIdentities`.
   */
  readonly protectedFields: ReadonlySet<string>;
  /** The names of all identity fields, the strongest first. */
  readonly strongestFirst: readonly string[];
  /** Values that identify no one, as configured. */
  readonly nobody: readonly string[];
  /** Whether the common values that identify no one count, too. */
  readonly hasCommonNobody: boolean;
  /** Returns whether a value identifies no one, such as `anonymous`. */
  isNobody(value: string): boolean;
}

export type Tables = ReadonlyMap<string, Table>;

const MAX_VALUES = 100;

/** Protected where a table names no protected fields. */
const USER_ID = "user_id";
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/**
 * Parses the tables of a configuration: an array of objects with `name`, `identities`, `default_identity`,
 * `max_values`, `protected`, `strongest_first`, `nobody`, and `common_nobody`. An identity is a name, or
 * `{ name, normal_form }`; the default form is `email` for `email` and `text` for other names. Throws a `StartError`.
 */
export function tablesOf(json: unknown): Tables {
  if (!Array.isArray(json) || json.length === 0) throw new StartError("tables: must be a list of at least one table");
  const tables = new Map<string, Table>();
  json.forEach((entry: unknown, index) => {
    const table = tableOf(entry, `tables[${index}]`);
    if (tables.has(table.name)) throw new StartError(`tables[${index}].name: the same name is given twice`);
    tables.set(table.name, table);
  });
  return tables;
}

/** Returns the table with this name. Throws `not-found` when there is none. */
export function tableNamed(tables: Tables, name: string): Table {
  const table = tables.get(name);
  if (table !== undefined) return table;
  const issues = [{ code: "unknown_table", path: "table", message: noSuchTable(tables) }];
  throw new ServiceError("not-found", "Not Found", { issues });
}

/** Returns the message for a table that is not configured. */
export function noSuchTable(tables: Tables): string {
  return `There is no such table; the tables are ${[...tables.keys()].join(", ")}`;
}

/** Returns the message for an identity field with too many values. */
export function tooManyValues({ maxValues }: Table): string {
  return `An entity has at most ${maxValues} values per identity field`;
}

function tableOf(entry: unknown, path: string): Table {
  const table = fieldsOf(entry, path);
  const { name, identities, default_identity, max_values = MAX_VALUES, nobody = [], common_nobody = true } = table;
  if (typeof name !== "string" || !NAME.test(name) || RESERVED_TABLES.includes(name)) {
    throw new StartError(`${path}.name: must be letters, digits, _ . - (not ${RESERVED_TABLES.join(" or ")})`);
  }
  if (!Array.isArray(identities) || identities.length === 0) {
    throw new StartError(`${path}.identities: must be a list of at least one field`);
  }
  const fields = identities.map((field: unknown, index) => identityFieldOf(field, `${path}.identities[${index}]`));
  const names = fields.map((field) => field.name);
  if (new Set(names).size < names.length) throw new StartError(`${path}.identities: the same field is given twice`);
  if (!Number.isSafeInteger(max_values) || (max_values as number) < 1) {
    throw new StartError(`${path}.max_values: must be a whole number of at least 1`);
  }
  if (!Array.isArray(nobody) || !nobody.every((value) => typeof value === "string")) {
    throw new StartError(`${path}.nobody: must be a list of texts`);
  }
  if (typeof common_nobody !== "boolean") throw new StartError(`${path}.common_nobody: must be true or false`);
  const { protected: protectedNames = names.filter((field) => field === USER_ID) } = table;
  if (!isListOf(protectedNames, names)) {
    throw new StartError(`${path}.protected: must be a list of identities, each once`);
  }
  const weak = names.filter((field) => !protectedNames.includes(field));
  const { strongest_first: strongestFirst = [...protectedNames, ...weak] } = table;
  if (!isListOf(strongestFirst, names) || strongestFirst.length < names.length) {
    throw new StartError(`${path}.strongest_first: must be a list of all identities, each once`);
  }
  const defaultIdentity = default_identity ?? names[0];
  if (typeof defaultIdentity !== "string" || !names.includes(defaultIdentity)) {
    throw new StartError(`${path}.default_identity: must be one of the identities`);
  }
  return {
    name,
    identities: fields,
    defaultIdentity,
    maxValues: max_values as number,
    protectedFields: new Set(protectedNames),
    strongestFirst,
    nobody,
    hasCommonNobody: common_nobody,
    isNobody: nobodyCheck(nobody, common_nobody),
  };
}

/** Returns whether `list` is an array of these names, none of them twice. */
function isListOf(list: unknown, names: readonly string[]): list is readonly string[] {
  return Array.isArray(list) && list.every((name) => names.includes(name)) && new Set(list).size === list.length;
}

function identityFieldOf(entry: unknown, path: string): IdentityField {
  const { name, normal_form } = typeof entry === "string" ? { name: entry } : fieldsOf(entry, path);
  if (typeof name !== "string" || !NAME.test(name) || RESERVED_IDENTITY_FIELDS.includes(name)) {
    throw new StartError(`${path}: must be letters, digits, _ . - (not segments)`);
  }
  const normalForm = normal_form ?? (name === "email" ? "email" : "text");
  if (normalForm !== "text" && normalForm !== "email") {
    throw new StartError(`${path}.normal_form: must be text or email`);
  }
  return { name, normalForm };
}

function fieldsOf(entry: unknown, path: string): Record<string, unknown> {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw new StartError(`${path}: must be an object`);
  }
  return entry as Record<string, unknown>;
}
