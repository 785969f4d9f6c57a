import { StartError } from "../../errors.js";
import type { Line } from "../../formats/line-splitter.js";
import { textLines } from "../../formats/text-lines.js";
import { DEFAULT_TABLE } from "../profile/checked-identity.js";
import { noSuchTable, tablesOf } from "../profile/entity-tables.js";
import { headerOf } from "./header.js";
import {
  checkedLine,
  type IdentityFile,
  type IdentityForm,
  type IdentityLine,
  isSurrounded,
  refusedLine,
} from "./identity-line.js";
import { jsonArray, jsonLine } from "./json-items.js";
import { rowsOf } from "./rows.js";

export const identityFormats = ["csv", "json", "values"] as const;

/** Returns what a service accepts, from its response to `GET /api/table`. */
export function acceptedIdentities(response: readonly object[]): Pick<IdentityFile, "tables"> {
  return { tables: tablesOf(response) };
}

/** Yields the identities and the refused lines of a file; blank lines are skipped. Throws like `IdentityReader`. */
export async function* identityLines(
  chunks: AsyncIterable<Uint8Array>,
  reader: IdentityReader,
): AsyncGenerator<IdentityLine[]> {
  for await (const lines of textLines(chunks)) yield reader.push(lines);
  yield reader.end();
}

/**
 * Reads the lines of a file of identities: CSV with a header, JSON, or one value per line. It runs in browsers too, and
 * needs the memory of one record, or of a JSON array. Throws a `StartError` if the whole file cannot be read. No error
 * contains a part of the file: any part may be an identity.
 */
export class IdentityReader {
  readonly #file: IdentityFile;
  #form: IdentityForm | undefined;

  constructor(file: IdentityFile) {
    this.#file = file;
    const { options, tables } = file;
    if (options.table !== undefined && !tables.has(options.table)) throw new StartError(noSuchTable(tables));
  }

  /** Description for people of the place of identities in the file, such as `email, from the file's header`. */
  get source(): string {
    return this.#form?.source ?? NO_SOURCE;
  }

  /** Whether every line is refused because neither the file nor the options name a field. */
  get needsField(): boolean {
    return this.#form?.needsField ?? false;
  }

  push(lines: readonly Line[]): IdentityLine[] {
    if (this.#form !== undefined) return this.#form.push(lines);
    const first = lines.findIndex(({ text, issue }) => issue !== undefined || text.trim() !== "");
    if (first < 0) return [];
    this.#form = formOf((lines[first] as Line).text, this.#file);
    return this.#form.push(lines.slice(this.#form.hasHeader ? first + 1 : first));
  }

  end(): IdentityLine[] {
    return this.#form?.end?.() ?? [];
  }
}

/** Returns how to read a file with this first line. */
function formOf(first: string, file: IdentityFile): IdentityForm {
  const { name, options, tables } = file;
  const { format, field } = options;
  const isJson = /\.(json|jsonl|ndjson)(\.gz)?$/i.test(name) || /^\s*[[{]/.test(first);
  if (format === "json" || (format === undefined && isJson)) {
    if (/^\s*\[/.test(first)) return jsonArray(file);
    return eachLine("each line of JSON", (number, text) => jsonLine(number, text, file));
  }
  const fields = tables.get(options.table ?? DEFAULT_TABLE)?.strongestFirst ?? [];
  const header = format === "values" ? undefined : headerOf(first, fields, allFields(file));
  if (header !== undefined) return rowsOf(header, file);
  if (field === undefined || format === "csv") {
    const names = [...fields, "value"].join(", ");
    const message = `The file has no header with one of the names ${names}${field === undefined ? ", and no field is given" : ""}`;
    const refused = eachLine(NO_SOURCE, (number) => refusedLine(number, "no_header", message));
    return { ...refused, needsField: field === undefined };
  }
  return eachLine(`${field}, one value per line`, (number, text) => {
    if (format === undefined && (/[,;\t"]/.test(text) || isSurrounded(text.trim())))
      return refusedLine(number, "invalid_identity", NOT_ONE_VALUE);
    return checkedLine(number, { field, value: text }, file);
  });
}

const NO_SOURCE = "nothing";

const NOT_ONE_VALUE =
  "A line without a header is one value, without comma, semicolon, tab, double quote, and quotes or invisible characters around it";

function allFields({ tables }: IdentityFile): string[] {
  return [...new Set([...tables.values()].flatMap((table) => table.strongestFirst))];
}

/** Reads each line alone. */
function eachLine(source: string, read: (number: number, text: string) => IdentityLine): IdentityForm {
  return {
    source,
    hasHeader: false,
    push: (lines) =>
      lines.flatMap(({ number, text, issue }) => {
        if (issue !== undefined) return refusedLine(number, issue);
        return text.trim() === "" ? [] : read(number, text);
      }),
  };
}
