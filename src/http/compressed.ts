import type Koa from "koa";
import compress from "koa-compress";

/** Bytes below which gzip is not worth its time. */
const WORTH_IT = 2048;

const gzip = compress({ threshold: WORTH_IT, gzip: { level: 1 }, br: false, deflate: false, zstd: false });

/** Sends large answers as gzip to callers that take it. Small answers, and callers that do not ask for it, cost nothing. */
export async function compressed(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  const { body } = ctx;
  if (body === null || body === undefined || !takesGzip(ctx)) return;
  if (typeof body === "object" && !Buffer.isBuffer(body)) {
    ctx.type = "json";
    ctx.body = JSON.stringify(body);
  }
  await gzip(ctx, async () => {});
}

/** Whether the caller takes gzip. One that refuses every encoding, the plain one too, is sent the plain one. */
export function takesGzip(ctx: Pick<Koa.Context, "req" | "acceptsEncodings">): boolean {
  const accepts = ctx.req.headers["accept-encoding"];
  return accepts?.includes("gzip") === true && ctx.acceptsEncodings("gzip", "identity") === "gzip";
}
