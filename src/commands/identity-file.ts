import { StartError } from "../errors.js";
import { csvCells } from "../formats/csv.js";
import { splitLines } from "../formats/line-splitter.js";
import { fileChunks, LINE_BYTES } from "./input-file.js";
import { type ConvertRow, formatOf, type Message, peekLine, readJson, readRows } from "./message-file.js";

export const identityFormats = ["csv", "json", "values"] as const;

export type IdentityFormat = (typeof identityFormats)[number];

export interface IdentityOptions {
  /** Default: by the name of the file, else by its first line. */
  readonly format?: IdentityFormat;
  /** Table of identities that have none. */
  readonly table?: string;
  /** Field of identities that have none. In CSV with a column for each field, the only column to read. */
  readonly field?: string;
}

/**
 * Yields the identities in a file, or in stdin for `-`, as items of `POST /api/deletion`; inflates gzip. `onBytes`
 * receives the bytes read so far. No error contains a part of the file: any part may be an identity.
 */
export async function* readIdentities(
  path: string,
  options: IdentityOptions,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Message[]> {
  const start = await peekLine(fileChunks(path, onBytes));
  const format = options.format ?? formatBy(path, start.line, options);
  if (format === "csv") return yield* readRows(path, start.chunks, (names) => rowConverter(path, names, options));
  const items = format === "json" ? readJson(path, start) : splitLines(start.chunks, LINE_BYTES);
  const convert = format === "json" ? withDefaults : valueItem;
  for await (const some of items) {
    yield some.map((item) => (item.issue === undefined ? { ...item, text: convert(item.text, options) } : item));
  }
}

/** Returns the format by the name of a file, else by its first line. */
function formatBy(path: string, line: string, { field }: IdentityOptions): IdentityFormat {
  if (formatOf(path) === "csv") return "csv";
  if (/\.(json|jsonl|ndjson)(\.gz)?$/i.test(path) || /^[[{]/.test(line)) return "json";
  const isHeader = field === undefined || csvCells(line)?.some((name) => name.trim() === field);
  return isHeader ? "csv" : "values";
}

/** Adds the table and the field of the options to an item without them. */
function withDefaults(text: string, { table, field }: IdentityOptions): string {
  if (table === undefined && field === undefined) return text;
  try {
    const item = JSON.parse(text);
    if (typeof item !== "object" || item === null || Array.isArray(item)) return text;
    return JSON.stringify({ ...item, table: item.table ?? table, field: item.field ?? field });
  } catch {
    // The service rejects the line.
    return text;
  }
}

function valueItem(value: string, { table, field }: IdentityOptions): string {
  return JSON.stringify({ table, field, value });
}

/** Names of columns with one identity in each row. */
const ITEM_COLUMNS = ["table", "field", "value"];

function rowConverter(path: string, names: readonly string[], { table, field }: IdentityOptions): ConvertRow {
  if (names.includes("value")) {
    const isKnown = names.every((name) => ITEM_COLUMNS.includes(name));
    if (isKnown && (field !== undefined || names.includes("field"))) {
      return (cells) => ({
        table: cells.get("table") ?? table,
        field: cells.get("field") ?? field,
        value: cells.get("value"),
      });
    }
    throw new StartError(`${path} needs the columns field, value and, optionally, table, and no others`);
  }
  if (field !== undefined && !names.includes(field)) {
    throw new StartError(`${path} has no column ${field} in its header; --format values reads one value per line`);
  }
  const fields = field === undefined ? names.filter((name) => name !== "table") : [field];
  return (cells) => {
    const named = fields.find((name) => cells.has(name)) ?? fields[0];
    return { table: cells.get("table") ?? table, field: named, value: named && cells.get(named) };
  };
}
