import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import zlib from "node:zlib";
import type Koa from "koa";
import compress from "koa-compress";
import type { ApiContext } from "./route.js";

/** Bytes below which gzip is not worth its time. */
export const WORTH_GZIP = 2048;

/** Of a body that is not kept for long: more time would seldom pay. */
const FAST = { level: 1 };

const gzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gzip);

const gzipResponse = compress({ threshold: WORTH_GZIP, gzip: FAST, br: false, deflate: false, zstd: false });

/** Sends large answers as gzip to callers that take it. Small answers, and callers that do not ask for it, cost nothing. */
export async function compressed(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  if (ctx.body && takesGzip(ctx)) await gzipResponse(ctx, async () => {});
}

/** Sends the answer to a request plain: pieces of it would wait in the compressor. */
export function sendPlain(ctx: ApiContext): void {
  (ctx as { compress?: boolean }).compress = false;
}

/**
 * Answers with pieces as they come: each is requested when the one before has been written, and is written as soon as it comes. Rejects with what fails
 * before the first one: then nothing is out yet.
 */
export async function streamPieces(ctx: ApiContext, pieces: AsyncGenerator<string>): Promise<void> {
  let first: IteratorResult<string> | undefined = await pieces.next();
  // Readable.from would request a piece ahead, which could wait in memory for as long as the reader is slow.
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

/** The same compression, of a body that several responses share. */
export function gzipFast(body: Buffer): Promise<Buffer> {
  return gzip(body, FAST);
}

/** Names what an answer depends on, besides what is named already. Koa's own reads the header anew. */
export function varyBy(ctx: Pick<Koa.Context, "res" | "vary">, names: string): void {
  if (ctx.res.hasHeader("Vary")) ctx.vary(names);
  else ctx.res.setHeader("Vary", names);
}

/** Whether the caller takes gzip. One that refuses every encoding, the plain one too, is sent the plain one. */
export function takesGzip(ctx: Pick<Koa.Context, "req" | "acceptsEncodings">): boolean {
  const accepts = ctx.req.headers["accept-encoding"];
  return accepts?.includes("gzip") === true && ctx.acceptsEncodings("gzip", "identity") === "gzip";
}

/**
 * Whether a GET or HEAD names the ETag of the answer that is about to go out: then 304 is due (RFC 9110, 13.1.2). The request's
 * own `Cache-Control` speaks to caches on the way: `fetch` sends `no-cache` with every `If-None-Match` of its caller.
 */
export function isNotModified({ req, res }: Pick<ApiContext, "req" | "res">): boolean {
  const { method } = req;
  const asked = req.headers["if-none-match"];
  const tag = res.getHeader("ETag");
  if (asked === undefined || typeof tag !== "string" || (method !== "GET" && method !== "HEAD")) return false;
  const known = withoutWeakness(tag);
  return asked.split(",").some((one) => one.trim() === "*" || withoutWeakness(one.trim()) === known);
}

/** What the weak comparison of two tags looks at. */
function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

/** A body that is the same for every request: made and compressed once, and shared by all responses. */
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

/** Answers with it, as gzip to a caller that takes gzip. */
export function answerKept(ctx: ApiContext, { type, plain, gzip, etag }: KeptBody): void {
  ctx.set({ "Content-Type": type, "Cache-Control": "no-cache", ETag: etag });
  ctx.status = 200;
  ctx.vary("Accept-Encoding");
  if (gzip !== undefined && takesGzip(ctx)) {
    ctx.set("Content-Encoding", "gzip");
    ctx.body = gzip;
  } else {
    ctx.body = plain;
  }
}

/** A body that is made when it is first asked for. An error is not kept: the next request makes it again. */
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
