import { instantReader } from "../../formats/instant.js";
import type { Line } from "../../formats/line-splitter.js";
import { BAD_TIME, BAD_VALUE, numberIn, type RowDefaults, type RowReader } from "./row.js";

const TIME_COLUMNS = ["ts", "time", "timestamp"];

/** Whether a line is the header of a CSV file of points: it names a time and a value. */
export function isCsvHeader(text: string): boolean {
  const names = columnNames(text);
  return names.includes("value") && names.some((name) => TIME_COLUMNS.includes(name));
}

/** Other separators than the comma that programs write, as a person names them. */
const SEPARATORS: readonly [separator: string, name: string][] = [
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

/** What separates the columns of a header that would be one with commas, in words; undefined when it is no such header. */
export function otherSeparator(text: string): string | undefined {
  return SEPARATORS.find(([separator]) => isCsvHeader(text.replaceAll(separator, ",")))?.[1];
}

/** A reader of rows under this header; or, as a text, why there can be none. */
export function csvRows(header: string, defaults: RowDefaults): RowReader | string {
  const names = columnNames(header);
  const column = (name: string) => names.indexOf(name);
  const [dimension, id, type] = [column("dimension"), column("dimension_id"), column("dimension_type")];
  const [value, time] = [column("value"), names.findIndex((name) => TIME_COLUMNS.includes(name))];
  if (defaults.dimension === undefined && dimension < 0) return "no column dimension, and no --dimension";
  if (defaults.dimensionId === undefined && id < 0) return "no column dimension_id, and no --dimension-id";
  const readInstant = instantReader();

  return (text, row) => {
    const cells = splitRow(text);
    if (cells === undefined || cells.length !== names.length) {
      return { code: "invalid_row", message: `it does not have ${names.length} columns` };
    }
    row.dimension = defaults.dimension ?? cells[dimension]?.trim();
    row.dimension_id = defaults.dimensionId ?? cells[id];
    row.dimension_type = defaults.dimensionType ?? (cells[type]?.trim() || "size");
    row.value = numberIn((cells[value] as string).trim());
    row.ms = readInstant(cells[time]);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    return Number.isNaN(row.value) ? BAD_VALUE : undefined;
  };
}

function columnNames(header: string): string[] {
  return (splitRow(header) ?? []).map((name) => name.trim().toLowerCase());
}

/** The cells of a row (RFC 4180); undefined when a quote does not end, or does not end its cell. */
function splitRow(text: string): string[] | undefined {
  if (!text.includes('"')) return text.split(",");
  const cells: string[] = [];
  for (let at = 0; ; ) {
    let end: number;
    if (text[at] === '"') {
      end = closingQuote(text, at + 1) + 1;
      if (end === 0 || (end < text.length && text[end] !== ",")) return undefined;
      cells.push(text.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      const comma = text.indexOf(",", at);
      end = comma < 0 ? text.length : comma;
      cells.push(text.slice(at, end));
    }
    if (end >= text.length) return cells;
    at = end + 1;
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}

/** Puts rows together that a quoted cell has spread over several lines. */
export class CsvRecords {
  /** The lines of a record that has not ended: the number of the first, their texts, and the length of these together. */
  #open: { readonly number: number; readonly texts: string[]; length: number } | undefined;

  /** The records that end in these lines, each with the number of its first line. */
  push(lines: readonly Line[]): Line[] {
    const records: Line[] = [];
    for (const line of lines) {
      if (line.fault !== undefined) {
        records.push(...this.end(), line);
      } else if (this.#open === undefined) {
        if (!hasOddQuotes(line.text) || line.text.length >= LONGEST_RECORD) records.push(line);
        else this.#open = { number: line.number, texts: [line.text], length: line.text.length };
      } else {
        this.#open.texts.push(line.text);
        this.#open.length += line.text.length + 1;
        if (hasOddQuotes(line.text) || this.#open.length >= LONGEST_RECORD) records.push(...this.end());
      }
    }
    return records;
  }

  /** What is left open at the end of the file. */
  end(): Line[] {
    if (this.#open === undefined) return [];
    const { number, texts } = this.#open;
    this.#open = undefined;
    return [{ number, text: texts.join("\n") }];
  }
}

const LONGEST_RECORD = 1024 * 1024;

function hasOddQuotes(text: string): boolean {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes += 1;
  return quotes % 2 === 1;
}
