import { createHash } from "node:crypto";
import { finished, Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import type Koa from "koa";
import koaCompress from "koa-compress";
import type { ApiContext } from "./route.js";

/** Minimum bytes for which gzip pays. */
export const MIN_GZIP_BYTES = 2048;

/** Level for bodies used only briefly; a higher one seldom pays. */
const FAST = { level: 1 };

const gzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gzip);

const gzipResponse = koaCompress({ threshold: MIN_GZIP_BYTES, gzip: FAST, br: false, deflate: false, zstd: false });

/** Compresses a large response if the caller accepts gzip. Small responses and other callers cost nothing. */
export async function compress(ctx: ApiContext): Promise<void> {
  const source: unknown = ctx.body;
  if (!source || !acceptsGzip(ctx)) return;
  await gzipResponse(ctx, async () => {});
  const { body } = ctx;
  if (!(source instanceof Readable) || !(body instanceof Readable) || body === source) return;
  // The compressor does not receive the failure of its source: the response would never end.
  finished(source, (error) => {
    if (error) body.destroy(error);
  });
}

/**
 * Streams pieces as the response. Requests each piece after the previous one was written, and writes it at once.
 * Rejects with an error before the first piece, when nothing has been sent.
 */
export async function streamPieces(ctx: ApiContext, pieces: AsyncGenerator<string>): Promise<void> {
  let first: IteratorResult<string> | undefined = await pieces.next();
  // Readable.from would read one piece ahead, which a slow reader would keep in memory.
  ctx.body = new Readable({
    highWaterMark: 0,
    read() {
      const next = first === undefined ? pieces.next() : Promise.resolve(first);
      first = undefined;
      next.then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, callback) {
      pieces.return(undefined).then(
        () => callback(error),
        (failed: Error) => callback(error ?? failed),
      );
    },
  });
}

/**
 * Streams JSON lines as `streamPieces` does, uncompressed: a compressor would delay them. The lines of a page are one
 * piece, because each piece costs a write.
 */
export async function streamJsonLines<P>(
  ctx: ApiContext,
  pages: AsyncIterable<P>,
  linesOf: (page: P) => readonly object[],
): Promise<void> {
  async function* texts(): AsyncGenerator<string> {
    for await (const page of pages)
      yield linesOf(page)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join("");
  }
  ctx.status = 200;
  (ctx as { compress?: boolean }).compress = false;
  ctx.set({ "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" });
  await streamPieces(ctx, texts());
}

/** Compresses a body that several responses share. */
export function gzipFast(body: Buffer): Promise<Buffer> {
  return gzip(body, FAST);
}

/** Returns whether the caller accepts gzip. A caller that accepts no encoding at all gets the plain body. */
export function acceptsGzip(ctx: Pick<Koa.Context, "req" | "acceptsEncodings">): boolean {
  const accepts = ctx.req.headers["accept-encoding"];
  return accepts?.includes("gzip") === true && ctx.acceptsEncodings("gzip", "identity") === "gzip";
}

/** Returns whether the caller has the body of this response: its ETag is in `If-None-Match`, so 304 is due. */
export function isNotModified(ctx: ApiContext): boolean {
  const { headers } = ctx.req;
  if (headers["if-none-match"] === undefined || !ctx.res.hasHeader("ETag")) return false;
  // It is for caches in between: `fetch` sends `no-cache` with every `If-None-Match`.
  delete headers["cache-control"];
  return ctx.fresh;
}

/** Responds 304: Koa removes the body with its type and length. */
export function omitBody(ctx: ApiContext): void {
  ctx.remove("Content-Encoding");
  ctx.status = 304;
}

/** A body that is the same for every request, created and compressed once. */
export interface KeptBody {
  readonly type: string;
  readonly plain: Buffer;
  /** Undefined where compression gains nothing. */
  readonly gzip: Buffer | undefined;
  readonly etag: string;
}

export async function keepBody(type: string, content: string | Buffer): Promise<KeptBody> {
  const plain = Buffer.from(content);
  const small = await gzip(plain, { level: 9 });
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, plain, gzip: small.length < 0.9 * plain.length ? small : undefined, etag };
}

/** Responds with the body, as gzip to callers that accept it. */
export function respondWithKept(ctx: ApiContext, { type, plain, gzip, etag }: KeptBody): void {
  ctx.set({ "Content-Type": type, "Cache-Control": "no-cache", ETag: etag });
  ctx.status = 200;
  ctx.vary("Accept-Encoding");
  if (gzip !== undefined && acceptsGzip(ctx)) {
    ctx.set("Content-Encoding", "gzip");
    ctx.body = gzip;
  } else {
    ctx.body = plain;
  }
}

/** Creates a body on the first request. After an error the next request tries again. */
export function madeOnce(make: () => Promise<KeptBody>): () => Promise<KeptBody> {
  let made: Promise<KeptBody> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
