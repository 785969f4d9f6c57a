import type Koa from "koa";
import bodyParser from "koa-bodyparser";
import type { Limits } from "../config.js";
import { invalid } from "../errors.js";
import { bodyError, discard, encodingOf, refuseUnlessJson, textOf, tooLarge } from "./body.js";
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

/** What the text of a body says, nested at most `nesting` deep where that is given. */
export function parseJson(text: string, nesting?: number): unknown {
  const body = parse(text);
  if (nesting !== undefined && depthOf(body, nesting) > nesting)
    throw invalid("too_deep", "", `The body is nested more than ${nesting} deep`);
  return body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("not_json", "", "The body is not JSON");
  }
}

/** Depth of a JSON value, counted to `limit` + 1 at most; without recursion, as the sender chooses the depth. */
function depthOf(value: unknown, limit: number): number {
  let level = [value].filter(isNested);
  let depth = 0;
  while (level.length > 0 && depth <= limit) {
    depth += 1;
    const next: object[] = [];
    for (const item of level) {
      for (const child of Array.isArray(item) ? item : Object.values(item)) if (isNested(child)) next.push(child);
    }
    level = next;
  }
  return depth;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
