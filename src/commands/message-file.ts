import { isUtf8 } from "node:buffer";
import { StartError } from "../errors.js";
import { type CsvIssue, CsvReader, type CsvRecord } from "../formats/csv.js";
import { splitArray, startOf } from "../formats/json-array.js";
import { type Line, lineIssues, splitLines } from "../formats/line-splitter.js";
import { fileChunks, LINE_BYTES, prepended } from "./input-file.js";
import type { LineIssue } from "./send-files.js";

/** Maximum bytes of a JSON array after inflation. */
const ARRAY_BYTES = 16 * 1024 * 1024;

/** A message as one line of JSON, with the number of its first line in the file. */
export interface Message extends Omit<Line, "issue">, Pick<CsvRecord, "quote"> {
  /** Issue of a line or row that is not a message; its text is then empty. */
  readonly issue?: CsvIssue | "invalid_row";
}

/** Returns the reason why a line or row is not read, if there is one. */
export function unreadable({ issue, quote }: Omit<Message, "text">): LineIssue | undefined {
  if (issue === undefined) return undefined;
  const issues = {
    ...lineIssues,
    open_quote: `The quoted cell that opens in line ${quote} does not end with a quote, or cannot be read`,
    lone_cr: "The line contains a carriage return outside of quotes; lines of CSV end with LF or CR LF",
    invalid_row: "The row does not have the columns of the header",
  };
  return { code: issue, message: issues[issue] };
}

export const messageFormats = ["json", "csv"] as const;

export type MessageFormat = (typeof messageFormats)[number];

/** Returns the format by the name of a file. */
export function formatOf(path: string): MessageFormat {
  return /\.csv(\.gz)?$/i.test(path) ? "csv" : "json";
}

/**
 * Yields the messages of a file, or of stdin for `-`. `json` is NDJSON or one JSON array of at most 16 MiB, `csv` has a
 * header of attribute names; gzip is inflated. `onBytes` receives the bytes read so far.
 */
export async function* readMessages(
  path: string,
  format: MessageFormat,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Message[]> {
  const chunks = fileChunks(path, onBytes);
  if (format === "json") return yield* readJson(path, await peekLine(chunks));
  yield* readRows(path, chunks);
}

/** Yields the lines of NDJSON, or the elements of a JSON array, as messages. */
export async function* readJson(path: string, { line, chunks }: Peeked): AsyncGenerator<Message[]> {
  if (line.startsWith("[")) yield await elementsOf(path, chunks);
  else yield* splitLines(chunks, LINE_BYTES);
}

/** The start of a file. */
export interface Peeked {
  /** First line that is not blank, trimmed; at most the first MiB of the file is searched. */
  readonly line: string;
  /** All chunks, including those already read. */
  readonly chunks: AsyncGenerator<Buffer>;
}

/** Reads the first line of a file. */
export async function peekLine(chunks: AsyncGenerator<Buffer>): Promise<Peeked> {
  let start = Buffer.alloc(0);
  let text = "";
  while (!text.includes("\n") && start.length < LINE_BYTES) {
    const { value, done } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
    // Removes a byte order mark too.
    text = start.toString("utf8").trimStart();
  }
  return { line: text.split("\n", 1)[0]?.trimEnd() ?? "", chunks: prepended([start], chunks) };
}

/** Byte order mark, which some programs write at the start of a text. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Yields the rows of CSV after its header as messages of the cells that are not empty. */
async function* readRows(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Message[]> {
  const { header, rows } = await openCsv(chunks);
  if (header === undefined) return;
  const names = headerNames(path, header);
  for await (const records of rows) yield records.map((record) => rowMessage(record, names));
}

/** Reads the header of CSV, which is its first record; `rows` yields the others. */
export async function openCsv(
  chunks: AsyncIterable<Buffer>,
): Promise<{ readonly header: CsvRecord | undefined; readonly rows: AsyncGenerator<readonly CsvRecord[]> }> {
  const all = recordsOf(chunks);
  for (;;) {
    const { value = [], done } = await all.next();
    const [header, ...first] = value;
    if (header !== undefined || done) return { header, rows: prepended([first], all) };
  }
}

async function* recordsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly CsvRecord[], undefined> {
  const reader = new CsvReader();
  for await (const lines of splitLines(chunks, LINE_BYTES, { forCsv: true })) yield reader.push(lines);
  yield reader.end();
}

/** Returns the names in a header. */
function headerNames(path: string, header: CsvRecord): readonly string[] {
  const names = header.cells?.map((name) => name.trim()) ?? [];
  const issue = unreadable(header)?.message ?? headerIssue(names);
  if (issue !== undefined) throw new StartError(`${path} does not begin with a header of CSV: ${issue}`);
  return names;
}

function headerIssue(names: readonly string[]): string | undefined {
  if (names.includes("")) return "a column has no name";
  if (new Set(names).size < names.length) return "two columns have the same name";
  return names.length === 1 && /[;\t|]/.test(names[0] as string)
    ? "its columns are not separated by commas"
    : undefined;
}

function rowMessage(record: CsvRecord, names: readonly string[]): Message {
  const { number, cells, issue = "invalid_row", quote } = record;
  if (cells?.length !== names.length) return { number, text: "", issue, quote };
  const given = names.flatMap((name, i) => (cells[i] ? [[name, cells[i]] as const] : []));
  return { number, text: JSON.stringify(Object.fromEntries(given)) };
}

/** Reads a whole JSON array and returns its elements as messages with the number of their first line. */
async function elementsOf(path: string, chunks: AsyncIterable<Buffer>): Promise<Message[]> {
  const bytes = await wholeArray(path, chunks);
  const array = isUtf8(bytes) ? splitArray(bytes, Number.POSITIVE_INFINITY) : undefined;
  const elements = array?.ends.map((end, i) => bytes.toString("utf8", startOf(array, i), end)) ?? [];
  if (array === undefined || array.brokenAt !== undefined || elements.some((text) => text.trim() === "")) {
    throw new StartError(`${path} is not one complete JSON array in UTF-8`);
  }
  let line = 1 + newlinesIn(bytes.toString("latin1", 0, array.start));
  return elements.map((text) => {
    const number = line + newlinesIn(text.slice(0, text.search(/\S/)));
    line += newlinesIn(text);
    if (text.length > LINE_BYTES) return { number, text: "", issue: "too_long" };
    // A tab is whitespace like a line end: allowed outside strings only.
    return { number, text: text.replace(/[\r\n]+/g, "\t").trim() };
  });
}

async function wholeArray(path: string, chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    bytes += chunk.length;
    if (bytes > ARRAY_BYTES) {
      throw new StartError(`${path} is a JSON array of more than 16 MiB: use NDJSON, one message per line`);
    }
  }
  const whole = Buffer.concat(read);
  return BYTE_ORDER_MARK.test(whole.toString("utf8", 0, 3)) ? whole.subarray(3) : whole;
}

function newlinesIn(text: string): number {
  return text.split("\n").length - 1;
}
