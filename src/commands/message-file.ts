import { StartError } from "../errors.js";
import { type Line, LineSplitter } from "../formats/line-splitter.js";
import { fileChunks, prepended } from "./input-file.js";

const LINE_BYTES = 1024 * 1024;

/**
 * The messages of a file of NDJSON or of one JSON array, or of stdin when it is named `-`; gzip is inflated on the way. Each
 * is one line of text, with the number of the line of the file on which it begins. `onBytes` gets the number of
 * bytes that have been read.
 */
export async function* readMessages(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Line[]> {
  const chunks = fileChunks(path, onBytes);
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
 * the number of the line on which it begins. Elements are separated, not checked.
 */
export class ArraySplitter {
  #line = 1;
  /** Brackets that are open: 1 between elements, and in an element that is no object or array. */
  #depth = 0;
  #ended = false;
  #inString = false;
  #escaped = false;
  /** The beginning of an element, and its line, while one is under way. */
  #element: { text: string; readonly line: number } | undefined;

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
          this.#element = { text: "", line: this.#line };
          start = i;
        }
        if (char === '"') this.#inString = true;
        else if (char === "[" || char === "{") this.#depth += 1;
        else if (char === "]" || char === "}") this.#depth -= 1;
      }
    }
    if (this.#element !== undefined) this.#element.text += text.slice(start);
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

  #take(rest: string, elements: Line[]): void {
    if (this.#element === undefined) return;
    const text = `${this.#element.text}${rest}`.replace(/[\r\n]+/g, " ").trim();
    elements.push({ number: this.#element.line, text });
    this.#element = undefined;
  }
}

const BLANK = /\s/;
