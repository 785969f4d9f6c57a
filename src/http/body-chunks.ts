import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { invalid, ServiceError } from "../errors.js";
import type { ApiContext } from "./route.js";

/** What is read and thrown away of a body that was refused half-way, so that its sender lives to read why. */
const DISCARDED_BYTES = 64 * 1024 * 1024;

/** A body that is no larger after inflation is not looked at: a few equal lines inflate to many times what was sent. */
const SMALL_BYTES = 65_536;

/**
 * The bytes of a body, plain or gzip (inflated here), as they come: nothing more is taken from the sender while the
 * caller is busy with a chunk. The caller may stop early and still answer. A body that inflates to more than `inflation` times
 * what was read of it so far is refused as too large.
 */
export async function* bodyChunks(ctx: ApiContext, inflation = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const { req } = ctx;
  const source = encodingOf(ctx) === "gzip" ? inflated(req) : req;
  try {
    let bytes = 0;
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > SMALL_BYTES && bytes > inflation * readOf(source, bytes)) {
        throw new ServiceError("too-large", `The body inflates to more than ${inflation} times what was sent`);
      }
      yield chunk;
    }
  } catch (error) {
    throw bodyError(error);
  } finally {
    if (source !== req) {
      req.unpipe();
      source.destroy();
    }
    if (!req.readableEnded) discard(req);
  }
}

/** Bytes that were sent for the `bytes` that came out. */
function readOf(source: Readable, bytes: number): number {
  return "bytesWritten" in source && typeof source.bytesWritten === "number" ? source.bytesWritten : bytes;
}

/** How the body is encoded; another encoding is refused. */
export function encodingOf(ctx: ApiContext): "identity" | "gzip" {
  const name = ctx.get("Content-Encoding").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  if (name === "gzip" || name === "x-gzip") return "gzip";
  throw new ServiceError("unsupported-media", "The body must be plain or gzip");
}

function inflated(req: IncomingMessage): Readable {
  const gunzip = createGunzip();
  req.once("error", (error) => gunzip.destroy(error));
  return req.pipe(gunzip);
}

const BROKEN_OFF = ["ECONNRESET", "ECONNABORTED", "ERR_STREAM_PREMATURE_CLOSE"];

/** The sender's mistakes in words; what is none of them as it is. */
export function bodyError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return invalid("not_gzip", "", "The body is not whole, valid gzip");
  if (BROKEN_OFF.includes(code)) {
    return invalid("incomplete", "", "The body ended before its end");
  }
  return error;
}

/** Reads and throws away the rest of a body, up to a bound. */
export function discard(req: IncomingMessage): void {
  let left = DISCARDED_BYTES;
  req.on("error", () => {});
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  req.resume();
}
