import type Koa from "koa";
import compress from "koa-compress";

/** Bytes below which gzip is not worth its time. */
const WORTH_IT = 2048;

const gzip = compress({ threshold: WORTH_IT, gzip: { level: 1 }, br: false, deflate: false, zstd: false });

/** Sends large answers as gzip to those who take it. The others, small answers and those who do not ask pay nothing. */
export async function compressed(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  await next();
  const accepts = ctx.req.headers["accept-encoding"];
  if (accepts === undefined || !accepts.includes("gzip")) return;
  const { body } = ctx;
  if (body === null || body === undefined) return;
  if (typeof body === "object" && !Buffer.isBuffer(body)) {
    ctx.type = "json";
    ctx.body = JSON.stringify(body);
  }
  await gzip(ctx, async () => {});
}
