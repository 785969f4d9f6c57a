import { parse } from "csv-parse/sync";
import type { Line } from "./line-splitter.js";

/** One record of CSV (RFC 4180), with the number of its first line. */
export interface CsvRecord {
  readonly number: number;
  /** Undefined if a quote is not closed, or not at the end of its cell. */
  readonly cells: readonly string[] | undefined;
  /** Reason why its line cannot be read. */
  readonly issue?: NonNullable<Line["issue"]>;
}

/** Maximum record length, characters: a longer one ends with its line, because a quote was never closed. */
const LONGEST_RECORD = 1024 * 1024;

/** Start of a quoted cell. In other cells a quote is an ordinary character. */
const QUOTED = /(?:^|,)"/;
const NEXT_QUOTED = /(?:^|,)"/g;

/** Lines of a record whose quoted cell is open. */
interface OpenRecord {
  /** Number of its first line. */
  readonly number: number;
  readonly texts: string[];
  /** Length of the texts together. */
  length: number;
  isBroken: boolean;
}

/** Joins records whose quoted cells span several lines, and splits them into cells. */
export class CsvReader {
  #open: OpenRecord | undefined;

  /** Returns the records that end in these lines. A blank line is not a record; inside a quoted cell it is kept. */
  push(lines: readonly Line[]): CsvRecord[] {
    const records: (Line | CsvRecord)[] = [];
    for (const { number, text, issue } of lines) {
      if (issue !== undefined) records.push(...this.end(), { number, cells: undefined, issue });
      else if (this.#open !== undefined || QUOTED.test(text)) records.push(...this.#add(number, text));
      else if (text.trim() !== "") records.push({ number, text });
    }
    return withCells(records);
  }

  /** Returns the unfinished record at the end of the text. */
  end(): CsvRecord[] {
    if (this.#open === undefined) return [];
    const { number } = this.#open;
    this.#open = undefined;
    return [{ number, cells: undefined }];
  }

  /** Adds a line in which a quoted cell begins or continues; returns the record that ends in it, if any. */
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

/** Returns the cells of one record; undefined if a quote is not closed, or not at the end of its cell. */
export function csvCells(text: string): readonly string[] | undefined {
  return new CsvReader().push([{ number: 1, text }])[0]?.cells;
}

/** Returns one record with its line end (RFC 4180). A cell that contains a comma, a quote or a line end is quoted. */
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

/** Parses records with correct quotes together, as parsing each separately takes ten times as long. */
function parsed(texts: readonly string[]): string[][] {
  if (texts.length === 0) return [];
  return parse(texts.join("\n"), { relax_quotes: true, relax_column_count: true, record_delimiter: "\n" });
}

/**
 * Returns whether a quoted cell is open at the end of a line, and whether one does not end with its quote. `wasOpen`:
 * one is open at its start.
 */
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
