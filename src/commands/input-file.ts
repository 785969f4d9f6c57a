import { createReadStream, statSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { StartError } from "../errors.js";

export const LINE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Returns the bytes of all files on disk; undefined when one of them is stdin. */
export function inputBytes(files: readonly string[]): number | undefined {
  if (files.includes("-")) return undefined;
  return files.reduce((sum, file) => {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) throw new StartError(`${file}: no such file`);
    if (stat.isDirectory()) throw new StartError(`${file} is a folder, not a file`);
    return sum + stat.size;
  }, 0);
}

/** Returns whether two paths, which may be links, lead to one existing file or folder. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/**
 * Yields the bytes of a file, or of stdin for `-`, in constant memory; inflates gzip. `onBytes` receives the bytes read
 * so far, before inflation.
 */
export async function* fileChunks(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  try {
    yield* inflated(counted(source(path), onBytes));
  } catch (error) {
    const { code = "it is damaged" } = error as NodeJS.ErrnoException;
    throw new StartError(`${path} cannot be read (${code.startsWith("Z_") ? "not complete, valid gzip" : code})`);
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

/** Bytes that identify a file: the gzip magic number, or a byte order mark and the next character. */
const SHOWING = 4;

/** Yields the bytes, inflated if they start as gzip does. The first chunk is long enough to identify the format. */
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

/** Yields what was already taken from a stream, then the rest of it. */
export async function* prepended<T>(head: readonly T[], rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield* head;
  yield* rest;
}
