import type Koa from "koa";
import bodyParser from "koa-bodyparser";
import type { Limits } from "../config.js";
import { bodyError, discard, encodingOf } from "./body-chunks.js";
import { parseJson, refuseUnlessJson, textOf } from "./body-text.js";
import { tooLarge } from "./lines.js";
import type { ApiContext } from "./route.js";

export type JsonLimits = Pick<Limits, "body_bytes" | "nesting">;

/**
 * Middleware that reads a small body of JSON into `ctx.request.body`: UTF-8, plain or gzip, of at most `body_bytes` after inflation,
 * nested at most `nesting` deep.
 */
export function jsonBody({ body_bytes, nesting }: JsonLimits): (ctx: ApiContext, next: Koa.Next) => Promise<void> {
  // As bytes: the parser itself would put other characters in the place of bytes that are not UTF-8.
  const readBytes = bodyParser({
    enableTypes: ["text"],
    extendTypes: { text: ["application/json"] },
    textLimit: body_bytes,
    encoding: null,
    onerror: (error: unknown, ctx: ApiContext) => refuse(error, ctx, body_bytes),
  } as unknown as bodyParser.Options) as unknown as (ctx: ApiContext, next: Koa.Next) => Promise<void>;

  return (ctx, next) => {
    writeHeadersPlainly(ctx);
    const read = readBytes(ctx, () => {
      const { request } = ctx;
      request.body = parseJson(Buffer.isBuffer(request.body) ? textOf(request.body) : "", nesting) as object;
      return next();
    });
    return Promise.race([read, brokenOff(ctx)]);
  };
}

/** Refuses what is neither JSON nor plain or gzip, and writes its headers in the one way that the parser knows. */
function writeHeadersPlainly(ctx: ApiContext): void {
  refuseUnlessJson(ctx);
  const { headers } = ctx.req;
  headers["content-type"] = "application/json";
  headers["content-encoding"] = encodingOf(ctx);
}

function refuse(error: unknown, { req }: ApiContext, limit: number): never {
  req.unpipe();
  discard(req);
  if (error instanceof Error && "type" in error && error.type === "entity.too.large") throw tooLarge(limit);
  throw bodyError(error);
}

/** Rejects when the sender breaks off: inflation would wait for the rest. */
function brokenOff({ req }: ApiContext): Promise<never> {
  return new Promise((_, reject) => {
    req.once("error", (error) => reject(bodyError(error)));
  });
}
