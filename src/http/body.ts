import { Readable } from "node:stream";
import bodyParser from "koa-bodyparser";
import { invalid, ServiceError } from "../errors.js";
import type { ApiContext } from "./api-router.js";
import { mediaType } from "./media-type.js";
import { readText } from "./read-bytes.js";

/** The JSON body of a request: UTF-8, plain or gzip, of at most `limit` bytes after inflation, nested at most `nesting` deep. */
export async function readJson(ctx: ApiContext, limit: number, nesting: number): Promise<unknown> {
  return parseJson(await readJsonText(ctx, limit), nesting);
}

/** The same body, not parsed yet. */
export async function readJsonText(ctx: ApiContext, limit: number): Promise<string> {
  if (mediaType(ctx) !== "application/json") {
    throw new ServiceError("unsupported-media", "The body must be application/json in UTF-8");
  }
  return readText(ctx, limit);
}

/** What the text of a body says, nested at most `nesting` deep. */
export async function parseJson(text: string, nesting: number): Promise<unknown> {
  const body = await parse(text);
  if (depthOf(body, nesting) > nesting) throw invalid("too_deep", "", `The body is nested more than ${nesting} deep`);
  return body;
}

/** Takes any JSON value, in which `__proto__` is a name like any other. Size, type and encoding are checked before. */
const parser = bodyParser({
  detectJSON: () => true,
  strict: false,
  jsonLimit: Number.POSITIVE_INFINITY,
  onProtoPoisoning: "ignore",
  onerror: refuse,
} as unknown as bodyParser.Options);

const BYTE_ORDER_MARK = "\ufeff";

/** The parser reads a request: here one with a body that is whole and valid UTF-8. */
async function parse(text: string): Promise<unknown> {
  if (text === "" || text.startsWith(BYTE_ORDER_MARK)) refuse();
  const req = Object.assign(new Readable({ read() {} }), { headers: {} });
  req.push(text);
  req.push(null);
  const request: { body?: unknown } = {};
  await parser({ req, request } as never, async () => {});
  return request.body;
}

function refuse(): never {
  throw invalid("not_json", "", "The body is not JSON");
}

/** Depth of a JSON value, looked at no further than `limit` + 1 levels; without recursion, as depth is the sender's choice. */
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
