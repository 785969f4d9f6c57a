import { StartError } from "../../errors.js";
import { type Line, LineSplitter } from "../../formats/line-splitter.js";
import { fileChunks } from "../ingest/file-lines.js";
import { ArraySplitter } from "./array-splitter.js";

const LINE_BYTES = 1024 * 1024;

/**
 * The messages of a file of NDJSON or of one JSON array, or of stdin when it is named `-`; gzip is inflated on the way. Each
 * is one line of text, with the number of the line of the file on which it begins. `onBytes` is told how far it has read.
 */
export async function* readMessages(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Line[]> {
  const chunks = fileChunks(path, onBytes);
  const head: Buffer[] = [];
  let first: string | undefined;
  for await (const chunk of peekable(chunks)) {
    head.push(chunk);
    first = /\S/.exec(chunk.toString("latin1").replace(/^\u00ef\u00bb\u00bf/, ""))?.[0];
    if (first !== undefined) break;
  }
  const all = prepended(head, chunks);
  yield* first === "[" ? elementsOf(path, all) : linesOf(all);
}

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

/** Lets a loop end early without ending what it goes over. */
function peekable<T>(source: AsyncGenerator<T>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) };
}

async function* prepended(head: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* head;
  yield* rest;
}
