import bodyParser from "koa-bodyparser";
import type Koa from "koa";
import { invalid, ServiceError } from "../errors.js";
import type { ApiContext } from "./api-router.js";

/** The JSON body of a request: UTF-8, plain or gzip, of at most `limit` bytes after inflation, nested at most `nesting` deep. */
export async function readJson(ctx: ApiContext, limit: number, nesting: number): Promise<unknown> {
  if (!ctx.is("json")) throw new ServiceError("unsupported-media", "The body must be application/json in UTF-8");
  const parse = bodyParser({ enableTypes: ["json"], jsonLimit: limit, strict: false });
  await parse(ctx as unknown as Koa.Context, async () => {});
  const body = ctx.request.body;
  if (depthOf(body, nesting) > nesting) throw invalid("too_deep", "", `The body is nested more than ${nesting} deep`);
  return body;
}

/** Depth of a JSON value, looked at no further than `limit` + 1 levels; without recursion, as depth is the sender's choice. */
function depthOf(value: unknown, limit: number): number {
  let level: unknown[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= limit) {
    const next: unknown[] = [];
    for (const item of level) if (typeof item === "object" && item !== null) for (const child of Object.values(item)) next.push(child);
    depth += level.some((item) => typeof item === "object" && item !== null) ? 1 : 0;
    level = next;
  }
  return depth;
}
