import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { invalid, ServiceError } from "../errors.js";
import type { ApiContext } from "./api-router.js";

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
  const source = inflated(req, ctx.get("Content-Encoding"));
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

function inflated(req: IncomingMessage, encoding: string): Readable {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return req;
  if (name !== "gzip" && name !== "x-gzip") {
    throw new ServiceError("unsupported-media", "The body must be plain or gzip");
  }
  const gunzip = createGunzip();
  req.once("error", (error) => gunzip.destroy(error));
  return req.pipe(gunzip);
}

/** The sender's mistakes in words; what is none of them as it is. */
function bodyError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return invalid("not_gzip", "", "The body is not whole, valid gzip");
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE") {
    return invalid("incomplete", "", "The body ended before its end");
  }
  return error;
}

function discard(req: IncomingMessage): void {
  let left = DISCARDED_BYTES;
  req.on("error", () => {});
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  req.resume();
}
