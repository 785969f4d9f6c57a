import { createHash } from "node:crypto";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { takesGzip } from "./compressed.js";
import type { ApiContext } from "./route.js";

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
  const gzip = await promisify(zlib.gzip)(plain, { level: 9 });
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, plain, gzip: gzip.length < 0.9 * plain.length ? gzip : undefined, etag };
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
