import type { Line } from "./line-splitter.js";

/**
 * One record of CSV (RFC 4180), with the number of its first line; or a line that belongs to no readable record, so
 * that each line of the text is part of exactly one record.
 */
export interface CsvRecord {
  readonly number: number;
  /** Undefined if there is an `issue`. */
  readonly cells: readonly string[] | undefined;
  readonly issue?: CsvIssue;
  /** Number of the line in which the quoted cell opens that cannot be read. */
  readonly quote?: number | undefined;
}

/** `lone_cr`: a carriage return outside of quotes that is not part of a line end. */
export type CsvIssue = NonNullable<Line["issue"]> | "open_quote" | "lone_cr";

/** Maximum length of a record of several lines, characters. */
const MAX_RECORD_LENGTH = 1024 * 1024;

/** Start of a quoted cell. In other cells a quote is an ordinary character. */
const QUOTED = /(?:^|,)"/;
const NEXT_QUOTED = /(?:^|,)"/g;

/** Lines of a record whose quoted cell is open. */
interface OpenRecord {
  /** Number of its first line. */
  readonly number: number;
  /** Its lines until it cannot be read any more. */
  lines: Line[];
  /** Characters of its lines. */
  length: number;
  /** Number of the line in which its last quoted cell opens. */
  quote: number;
  /** Reason why it cannot be read. */
  issue: CsvIssue | undefined;
}

/**
 * Joins records whose quoted cells span several lines, and splits them into cells. Its lines have the line ends that
 * `LineSplitter` keeps for it: a line end in a quoted cell is part of its value.
 */
export class CsvReader {
  #open: OpenRecord | undefined;

  /**
   * Returns the records that end in these lines, and each line of a record that cannot be read. A blank line is not a
   * record; inside a quoted cell it is kept.
   */
  push(lines: readonly Line[]): CsvRecord[] {
    const records: (Line | CsvRecord)[] = [];
    for (const line of lines) {
      const { number, text, issue } = line;
      if (this.#open !== undefined || QUOTED.test(text)) for (const record of this.#add(line)) records.push(record);
      else if (issue !== undefined) records.push({ number, cells: undefined, issue });
      else if (text.trim() !== "") records.push(line);
    }
    return withCells(records);
  }

  /** Returns the lines of the unfinished record at the end of the text. */
  end(): CsvRecord[] {
    const lines = this.#open === undefined ? [] : refusedLines(this.#open);
    this.#open = undefined;
    return lines;
  }

  /** Adds a line in which a quoted cell begins or continues; returns the record that ends in it, if any. */
  #add(line: Line): (Line | CsvRecord)[] {
    const { number, text } = line;
    const { isOpen, issue, opensHere } = quotesOf(withoutCr(text), this.#open !== undefined);
    this.#open ??= { number, lines: [], length: 0, quote: number, issue: undefined };
    const record = this.#open;
    if (opensHere && record.issue === undefined) record.quote = number;
    record.lines.push(line);
    record.length += text.length + 1;
    record.issue ??= issue;
    if (line.issue !== undefined || (isOpen && record.length > MAX_RECORD_LENGTH)) record.issue ??= "open_quote";
    if (!isOpen) this.#open = undefined;
    if (record.issue !== undefined) return refusedLines(record);
    return isOpen ? [] : [{ number: record.number, text: record.lines.map((one) => one.text).join("\n") }];
  }
}

/** Returns the cells of one record; undefined if it cannot be read. */
export function csvCells(text: string): readonly string[] | undefined {
  return new CsvReader().push([{ number: 1, text }])[0]?.cells;
}

/** Returns one record with its line end (RFC 4180). A cell that contains a comma, a quote or a line end is quoted. */
export function csvRecord(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}

/** Takes the lines of a record that cannot be read. */
function refusedLines(record: OpenRecord): CsvRecord[] {
  const { lines, quote, issue: whole = "open_quote" } = record;
  record.lines = [];
  return lines.map(({ number, issue = whole }) => ({ number, cells: undefined, issue, quote }));
}

function withCells(records: readonly (Line | CsvRecord)[]): CsvRecord[] {
  return records.map((record) => {
    if (!("text" in record)) return record;
    const { number, text } = record;
    if (QUOTED.test(text)) return { number, cells: cellsOf(withoutCr(text)) };
    const cr = text.indexOf("\r");
    if (cr >= 0 && cr < text.length - 1) return { number, cells: undefined, issue: "lone_cr" };
    return { number, cells: (cr < 0 ? text : text.slice(0, cr)).split(",") };
  });
}

function withoutCr(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** Splits a record with correct quotes. */
function cellsOf(text: string): string[] {
  const cells: string[] = [];
  for (let start = 0; start <= text.length; ) {
    const isQuoted = text[start] === '"';
    const end = isQuoted ? closingQuote(text, start + 1) : text.indexOf(",", start);
    const cell = text.slice(isQuoted ? start + 1 : start, end < 0 ? undefined : end);
    cells.push(isQuoted ? cell.replaceAll('""', '"') : cell);
    if (end < 0) break;
    start = isQuoted ? end + 2 : end + 1;
  }
  return cells;
}

/** Returns the position of the quote that ends a quoted cell; negative if none does. */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

/**
 * Returns whether a quoted cell is open at the end of a line, an issue of the line, and whether the cell of the issue,
 * or the last quoted one, opens in this line. `wasOpen`: one is open at its start.
 */
function quotesOf(line: string, wasOpen: boolean) {
  const hasCr = line.includes("\r");
  let issue: CsvIssue | undefined;
  let opensHere = false;
  for (let at = 0, isOpen = wasOpen; ; isOpen = false) {
    if (!isOpen) {
      NEXT_QUOTED.lastIndex = at;
      const isLast = !NEXT_QUOTED.test(line);
      if (hasCr && line.slice(at, isLast ? undefined : NEXT_QUOTED.lastIndex).includes("\r")) issue ??= "lone_cr";
      if (isLast) return { isOpen: false, issue, opensHere };
      at = NEXT_QUOTED.lastIndex;
      opensHere ||= issue === undefined;
    }
    at = closingQuote(line, at);
    if (at < 0) return { isOpen: true, issue, opensHere };
    at += 1;
    if (at < line.length && line[at] !== ",") issue ??= line[at] === "\r" ? "lone_cr" : "open_quote";
  }
}
