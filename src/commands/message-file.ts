import { StartError } from "../errors.js";
import { CsvReader, type CsvRecord } from "../formats/csv.js";
import { type Line, LineSplitter, lineIssues } from "../formats/line-splitter.js";
import { fileChunks, prepended } from "./input-file.js";

const LINE_BYTES = 1024 * 1024;

/** One message as one line of JSON, with the number of the line of the file on which it begins. */
export interface Message extends Omit<Line, "issue"> {
  /** Why the line or row is not a message; its text is empty then. */
  readonly issue?: keyof typeof messageIssues;
}

/** The message of each issue, for people. */
export const messageIssues = {
  ...lineIssues,
  invalid_row: "The row does not have the columns of the header",
} as const;

export const messageFormats = ["json", "csv"] as const;

export type MessageFormat = (typeof messageFormats)[number];

/** The format that the name of a file says it has. */
export function formatOf(path: string): MessageFormat {
  return /\.csv(\.gz)?$/i.test(path) ? "csv" : "json";
}

/**
 * The messages of a file, or of stdin when it is named `-`: `json` is NDJSON or one JSON array, `csv` has a header of attribute names;
 * gzip is inflated on the way. `onBytes` gets the number of bytes that have been read.
 */
export async function* readMessages(
  path: string,
  format: MessageFormat,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Message[]> {
  const chunks = fileChunks(path, onBytes);
  if (format === "csv") return yield* rowsOf(path, chunks);
  const head: Buffer[] = [];
  let first: string | undefined;
  while (first === undefined) {
    const { value, done } = await chunks.next();
    if (done) break;
    head.push(value);
    first = /\S/.exec(value.toString("latin1").replace(BYTE_ORDER_MARK, ""))?.[0];
  }
  const all = prepended(head, chunks);
  yield* first === "[" ? elementsOf(path, all) : linesOf(all);
}

/** Some programs put it at the start of a text. */
const BYTE_ORDER_MARK = /^\u00ef\u00bb\u00bf/;

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(LINE_BYTES);
  for await (const chunk of chunks) yield splitter.push(chunk);
  yield splitter.end();
}

async function* rowsOf(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Message[]> {
  const splitter = new LineSplitter(LINE_BYTES, { keepBlank: true });
  const reader = new CsvReader();
  let names: readonly string[] | undefined;
  const messages = ([first, ...rest]: readonly CsvRecord[]): Message[] => {
    if (first === undefined) return [];
    if (names !== undefined) return [first, ...rest].map((record) => rowMessage(record, names as readonly string[]));
    names = headerNames(path, first);
    return messages(rest);
  };
  for await (const chunk of chunks) yield messages(reader.push(splitter.push(chunk)));
  yield messages([...reader.push(splitter.end()), ...reader.end()]);
}

/** The names of attributes that a header gives its columns. */
function headerNames(path: string, { cells }: CsvRecord): readonly string[] {
  const names = cells?.map((name) => name.trim()) ?? [];
  const issue = headerIssue(names);
  if (issue !== undefined) throw new StartError(`${path} does not begin with a header of CSV: ${issue}`);
  return names;
}

function headerIssue(names: readonly string[]): string | undefined {
  if (names.length === 0) return "it cannot be read";
  if (names.includes("")) return "a column has no name";
  if (new Set(names).size < names.length) return "two columns have one name";
  return names.length === 1 && /[;\t|]/.test(names[0] as string)
    ? "its columns are not separated by commas"
    : undefined;
}

/** The cells of a row by their names, empty ones left out. */
function rowMessage({ number, cells, issue }: CsvRecord, names: readonly string[]): Message {
  if (issue !== undefined) return { number, text: "", issue };
  if (cells?.length !== names.length) return { number, text: "", issue: "invalid_row" };
  const given = names.flatMap((name, i) => (cells[i] === "" ? [] : [[name, cells[i]] as const]));
  return { number, text: JSON.stringify(Object.fromEntries(given)) };
}

async function* elementsOf(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  const splitter = new ArraySplitter();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for await (const chunk of chunks) yield splitter.push(decoder.decode(chunk, { stream: true }));
    yield splitter.push(decoder.decode());
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = error instanceof TypeError ? "it is not valid UTF-8" : "there is something beside the array";
    throw new StartError(`${path} is not a JSON array: ${reason}`);
  }
  if (!splitter.ended) throw new StartError(`${path} is not a whole JSON array: its end is missing`);
}

/**
 * Cuts a JSON array into its elements, as its text comes in, in memory of one element. Each comes as one line of JSON, with
 * the number of the line on which it begins; one of more than `LINE_BYTES` characters is an issue. Elements are separated, not checked.
 */
export class ArraySplitter {
  #line = 1;
  /** Brackets that are open: 1 between elements, and in an element that is no object or array. */
  #depth = 0;
  #ended = false;
  #inString = false;
  #escaped = false;
  /** The element that is under way: its text so far (of one that is too long nothing), the length of it all, its line. */
  #element: { text: string; length: number; readonly line: number } | undefined;

  /** The elements that end in this text. Throws when there is something beside the array. */
  push(text: string): Line[] {
    const elements: Line[] = [];
    let start = 0;
    for (let i = 0; i < text.length; i += 1) {
      const char = text[i] as string;
      if (char === "\n") this.#line += 1;
      if (this.#inString) this.#passString(char);
      else if (BLANK.test(char)) continue;
      else if (this.#depth === 0) this.#open(char);
      else if (this.#depth === 1 && (char === "," || char === "]")) {
        this.#take(text.slice(start, i), elements);
        if (char === "]") {
          this.#depth = 0;
          this.#ended = true;
        }
      } else {
        if (this.#element === undefined) {
          this.#element = { text: "", length: 0, line: this.#line };
          start = i;
        }
        if (char === '"') this.#inString = true;
        else if (char === "[" || char === "{") this.#depth += 1;
        else if (char === "]" || char === "}") this.#depth -= 1;
      }
    }
    this.#keep(text.slice(start));
    return elements;
  }

  /** Whether the array was whole. */
  get ended(): boolean {
    return this.#ended;
  }

  #open(char: string): void {
    if (char !== "[" || this.#ended) throw new Error("There is something beside the array");
    this.#depth = 1;
  }

  #passString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === "\\") this.#escaped = true;
    else if (char === '"') this.#inString = false;
  }

  #keep(text: string): void {
    const element = this.#element;
    if (element === undefined) return;
    element.length += text.length;
    element.text = element.length > LINE_BYTES ? "" : element.text + text;
  }

  #take(rest: string, elements: Line[]): void {
    this.#keep(rest);
    if (this.#element === undefined) return;
    const { text, length, line: number } = this.#element;
    if (length > LINE_BYTES) elements.push({ number, text: "", issue: "too_long" });
    // A tab, as a line end is: allowed beside strings, and not in them.
    else elements.push({ number, text: text.replace(/[\r\n]+/g, "\t").trim() });
    this.#element = undefined;
  }
}

const BLANK = /\s/;
