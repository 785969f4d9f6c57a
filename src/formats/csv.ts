import { CsvError, parse } from "csv-parse/sync";
import type { Line } from "./line-splitter.js";

/** One record of CSV (RFC 4180), with the number of the line on which it begins. */
export interface CsvRecord {
  readonly number: number;
  /** Undefined when a quote does not end, or does not end its cell. */
  readonly cells: readonly string[] | undefined;
  /** Why its line cannot be read at all. */
  readonly issue?: NonNullable<Line["issue"]>;
}

/** A record longer than this, in characters, ends with its line: a quote was never closed. */
const LONGEST_RECORD = 1024 * 1024;

/** Cells that begin with a quote. In other cells a quote is a character like any other. */
const QUOTED = /(?:^|,)"/;

/** Puts records together that a quoted cell spreads over several lines, and cuts them into cells. */
export class CsvReader {
  /** The lines of a record that has not ended: the number of the first, their texts, and the length of these together. */
  #open: { readonly number: number; readonly texts: string[]; length: number } | undefined;

  /** The records that end in these lines. A blank line is none; in a quoted cell it counts. */
  push(lines: readonly Line[]): CsvRecord[] {
    const records: (Line | CsvRecord)[] = [];
    for (const line of lines) {
      if (line.issue !== undefined) {
        records.push(...this.end(), { number: line.number, cells: undefined, issue: line.issue });
      } else if (this.#open === undefined) {
        if (line.text.trim() === "") continue;
        if (!(QUOTED.test(line.text) && hasOddQuotes(line.text))) records.push(line);
        else this.#open = { number: line.number, texts: [line.text], length: line.text.length };
      } else {
        this.#open.texts.push(line.text);
        this.#open.length += line.text.length + 1;
        if (hasOddQuotes(line.text)) {
          records.push({ number: this.#open.number, text: this.#open.texts.join("\n") });
          this.#open = undefined;
        }
      }
      if (this.#open !== undefined && this.#open.length >= LONGEST_RECORD) records.push(...this.end());
    }
    return withCells(records);
  }

  /** What is left open at the end of the text. */
  end(): CsvRecord[] {
    if (this.#open === undefined) return [];
    const { number } = this.#open;
    this.#open = undefined;
    return [{ number, cells: undefined }];
  }
}

/** The cells of one record; undefined when a quote does not end, or does not end its cell. */
export function csvCells(text: string): readonly string[] | undefined {
  return QUOTED.test(text) ? parsed([text])[0] : text.split(",");
}

/** One record with its line end (RFC 4180): a cell that holds a comma, a quote or a line end is quoted. */
export function csvRecord(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}

function withCells(records: readonly (Line | CsvRecord)[]): CsvRecord[] {
  const quoted = parsed(records.flatMap((record) => ("text" in record && QUOTED.test(record.text) ? record.text : [])));
  let next = 0;
  return records.map((record) => {
    if (!("text" in record)) return record;
    const { number, text } = record;
    return { number, cells: QUOTED.test(text) ? quoted[next++] : text.split(",") };
  });
}

/** The cells of records, read together, as each by itself takes ten times as long; undefined for one that is broken. */
function parsed(texts: readonly string[]): (readonly string[] | undefined)[] {
  if (texts.length === 0) return [];
  try {
    return parse(texts.join("\n"), { relax_column_count: true, record_delimiter: "\n" });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const middle = texts.length >> 1;
    return middle === 0 ? [undefined] : [...parsed(texts.slice(0, middle)), ...parsed(texts.slice(middle))];
  }
}

function hasOddQuotes(text: string): boolean {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes += 1;
  return quotes % 2 === 1;
}
