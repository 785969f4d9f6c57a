import { createReadStream, statSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { StartError } from "../errors.js";
import { type Line, LineSplitter } from "../formats/line-splitter.js";

const LINE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Bytes of all files as they lie there; undefined when one of them is stdin. */
export function inputBytes(files: readonly string[]): number | undefined {
  if (files.includes("-")) return undefined;
  return files.reduce((sum, file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) throw new StartError(`${file}: there is no such file`);
    if (stat.isDirectory()) throw new StartError(`${file} is a folder, not a file`);
    return sum + stat.size;
  }, 0);
}

/**
 * The lines of a file, or of stdin when it is named `-`, in batches, in constant memory; gzip is inflated on the way.
 * `onBytes` gets the number of bytes that have been read of the file as it lies there.
 */
export async function* fileLines(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(LINE_BYTES);
  for await (const chunk of fileChunks(path, onBytes)) {
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest.length > 0) yield rest;
}

/** The bytes of a file as `fileLines` reads them. */
export async function* fileChunks(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  try {
    yield* inflated(counted(source(path), onBytes));
  } catch (error) {
    throw new StartError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? "it is damaged"})`);
  }
}

function source(path: string): Readable {
  return path === "-" ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
}

async function* counted(chunks: AsyncIterable<Buffer>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    onBytes(bytes);
    yield chunk;
  }
}

/** As many bytes as show what a file is: how gzip begins, or a byte order mark and the character behind it. */
const SHOWING = 4;

/** The bytes as they are, or inflated when they begin as gzip does. The first piece is long enough to show what they are. */
async function* inflated(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let start = Buffer.alloc(0);
  while (start.length < SHOWING) {
    const { value, done } = await chunks.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const all = prepended([start], chunks);
  if (start[0] !== 0x1f || start[1] !== 0x8b) return yield* all;
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  pipeline(Readable.from(all), gunzip, () => {});
  yield* gunzip;
}

/** Chunks that were taken from a stream, and then the rest of it. */
export async function* prepended(head: readonly Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield* head;
  yield* rest;
}
