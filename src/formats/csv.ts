import { parse } from "csv-parse/sync";
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

/** Where a quoted cell begins. In other cells a quote is a character like any other. */
const QUOTED = /(?:^|,)"/;
const NEXT_QUOTED = /(?:^|,)"/g;

/** The lines of a record whose quoted cell has not ended. */
interface OpenRecord {
  /** Of its first line. */
  readonly number: number;
  readonly texts: string[];
  /** Of the texts together. */
  length: number;
  isBroken: boolean;
}

/** Puts records together that a quoted cell spreads over several lines, and cuts them into cells. */
export class CsvReader {
  #open: OpenRecord | undefined;

  /** The records that end in these lines. A blank line is no record; inside a quoted cell it is kept. */
  push(lines: readonly Line[]): CsvRecord[] {
    const records: (Line | CsvRecord)[] = [];
    for (const { number, text, issue } of lines) {
      if (issue !== undefined) records.push(...this.end(), { number, cells: undefined, issue });
      else if (this.#open !== undefined || QUOTED.test(text)) records.push(...this.#add(number, text));
      else if (text.trim() !== "") records.push({ number, text });
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

  /** Adds a line in which a quoted cell begins or goes on; returns the record that ends in it, if one does. */
  #add(number: number, text: string): (Line | CsvRecord)[] {
    const { isOpen, isBroken } = quotesOf(text, this.#open !== undefined);
    const record = this.#open ?? { number, texts: [], length: 0, isBroken };
    record.texts.push(text);
    record.length += text.length + 1;
    record.isBroken ||= isBroken;
    this.#open = record;
    if (isOpen && record.length < LONGEST_RECORD) return [];
    if (isOpen || record.isBroken) return this.end();
    this.#open = undefined;
    return [{ number: record.number, text: record.texts.join("\n") }];
  }
}

/** The cells of one record; undefined when a quote does not end, or does not end its cell. */
export function csvCells(text: string): readonly string[] | undefined {
  return new CsvReader().push([{ number: 1, text }])[0]?.cells;
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

/** The cells of records whose quotes are in order: read together, as each by itself takes ten times as long. */
function parsed(texts: readonly string[]): string[][] {
  if (texts.length === 0) return [];
  return parse(texts.join("\n"), { relax_quotes: true, relax_column_count: true, record_delimiter: "\n" });
}

/** Whether a quoted cell is open at the end of a line, and whether one does not end with its quote. `wasOpen`: one is open at its start. */
function quotesOf(line: string, wasOpen: boolean): { readonly isOpen: boolean; readonly isBroken: boolean } {
  let isBroken = false;
  for (let at = 0, isOpen = wasOpen; ; isOpen = false) {
    if (!isOpen) {
      NEXT_QUOTED.lastIndex = at;
      if (!NEXT_QUOTED.test(line)) return { isOpen: false, isBroken };
      at = NEXT_QUOTED.lastIndex;
    }
    at = line.indexOf('"', at);
    while (at >= 0 && line[at + 1] === '"') at = line.indexOf('"', at + 2);
    if (at < 0) return { isOpen: true, isBroken };
    at += 1;
    isBroken ||= at < line.length && line[at] !== ",";
  }
}
