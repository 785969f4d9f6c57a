import { csvCells } from "../../formats/csv.js";

/** Names of columns of a file with the table, the field and the value of an identity in each row. */
export const itemColumns: readonly string[] = ["table", "field", "value"];

/** The first line of CSV. */
export interface Header {
  readonly separator: string;
  /** Name of the identity field or item column in each column; undefined for any other content. */
  readonly columns: readonly (string | undefined)[];
  /** Whether a column has another name. */
  readonly hasOthers: boolean;
}

const SEPARATORS = [",", ";", "\t"];

/**
 * Reads a line as a header; undefined if it names neither an identity field nor `value`. `fields` are the identity
 * fields of the file's table, `allFields` the ones of every table, for files with a column `table`.
 */
export function headerOf(line: string, fields: readonly string[], allFields: readonly string[]): Header | undefined {
  for (const separator of SEPARATORS) {
    const cells = csvCells(exchanged(line, separator))?.map((cell) => exchanged(cell, separator)) ?? [];
    const hasTable = cells.some((cell) => nameOf(cell, ["table"]) !== undefined);
    const names = [...itemColumns, ...(hasTable ? allFields : fields)];
    const columns = cells.map((cell) => nameOf(cell, names));
    if (columns.some((name) => name !== undefined && name !== "table" && name !== "field")) {
      return { separator, columns, hasOthers: cells.some((cell, i) => columns[i] === undefined && cell.trim() !== "") };
    }
  }
  return undefined;
}

/** Exchanges a separator and the comma, as the reader of CSV splits at commas. */
export function exchanged(text: string, separator: string): string {
  if (separator === ",") return text;
  return text.replace(/[,;\t]/g, (mark) => (mark === "," ? separator : mark === separator ? "," : mark));
}

/** Returns whether a row repeats the names of a header: several files may be joined into one. */
export function repeatsHeader(row: readonly string[], { columns }: Header): boolean {
  return columns.every((name, i) => name === undefined || nameOf(row[i] ?? "", [name]) === name);
}

/** Returns the name that a cell of a header means; undefined if it means none, or several equally. */
function nameOf(cell: string, names: readonly string[]): string | undefined {
  if (cell.length > MAX_NAME_LENGTH) return undefined;
  const meant = names.filter((name) => comparable(name) === comparable(cell));
  return meant.length > 1 ? meant.find((name) => name === cell) : meant[0];
}

/** Maximum characters of a name, with what may surround it. */
const MAX_NAME_LENGTH = 256;

/** Ignores case, quotes and blanks around a name, and `-`, `_` and blanks within it: `uid` is not `_uid`. */
function comparable(name: string): string {
  const bare = name.replace(/^[\s"']+|[\s"']+$/g, "").toLowerCase();
  return bare.slice(0, 1) + bare.slice(1).replace(/[-_\s]/g, "");
}
