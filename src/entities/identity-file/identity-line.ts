import { issueOf } from "../../errors.js";
import type { Line } from "../../formats/line-splitter.js";
import { checkedIdentity, DEFAULT_TABLE, type GivenIdentity } from "../profile/checked-identity.js";
import type { Tables } from "../profile/entity-tables.js";
import { itemColumns } from "./header.js";

/** A file of identities, and what the service accepts. */
export interface IdentityFile {
  /** Its ending may tell the format. */
  readonly name: string;
  readonly options: IdentityFileOptions;
  readonly tables: Tables;
}

export interface IdentityFileOptions {
  /** Default: by the name of the file, else by its first line that is not blank. */
  readonly format?: "csv" | "json" | "values" | undefined;
  /** Table of identities that name none. Default: `user`. */
  readonly table?: string | undefined;
  /** Field of identities that name none. In CSV with a column for each field, the only column to read. */
  readonly field?: string | undefined;
}

/** A line of a file: the identity that it names, as an item of `POST /api/deletion`, or the reason of its refusal. */
export type IdentityLine =
  | { readonly number: number; readonly item: IdentityItem }
  | { readonly number: number; readonly issue: { readonly code: string; readonly message: string } };

export interface IdentityItem {
  readonly table: string;
  readonly field: string;
  readonly value: string;
}

/** Reads the lines of a file in one way. */
export interface IdentityForm {
  /** Description for people of the place of identities in the file. */
  readonly source: string;
  /** Whether the first line is no identity. */
  readonly hasHeader: boolean;
  /** Whether it refuses every line until a field is given. */
  readonly needsField?: boolean;
  push(lines: readonly Line[]): IdentityLine[];
  end?(): IdentityLine[];
}

const issues: Readonly<Record<string, string>> = {
  too_long: "The line is too long",
  not_utf8: "The line has bytes that are no characters: save the file as UTF-8",
  invalid_row: "The row does not have the columns of the header",
};

export function refusedLine(number: number, code: string, message = issues[code] ?? code): IdentityLine {
  return { number, issue: { code, message } };
}

/**
 * Returns whether a trimmed cell or line has something around its value: quotes that are no quotes of CSV, as in
 * `'u-1'`, or in `="1"` for a number that stays text; or an invisible character, as programs copy it. No program stores
 * an identity with them, so a deletion by such a value would erase no data.
 */
export function isSurrounded(text: string): boolean {
  return /^=?(["']).*\1$|^\p{Cf}|\p{Cf}$/su.test(text);
}

/** Checks an identity as the service does. */
export function checkedLine(
  number: number,
  { table, field, value }: { readonly table?: unknown; readonly field?: unknown; readonly value?: unknown },
  { options, tables }: IdentityFile,
): IdentityLine {
  const given = { table: table ?? options.table ?? DEFAULT_TABLE, field: field ?? options.field ?? "", value };
  try {
    const { table, identity } = checkedIdentity(given as GivenIdentity, tables);
    return { number, item: { table: table.name, ...identity } };
  } catch (error) {
    const issue = issueOf(error);
    const path = itemColumns.includes(issue.path) ? issue.path : "value";
    return refusedLine(number, issue.code, `${path}: ${issue.message}`);
  }
}
