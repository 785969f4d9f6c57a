import type { IncomingMessage } from "node:http";
import type Koa from "koa";
import bodyParser from "koa-bodyparser";
import type { Limits } from "../../config/settings.js";
import { invalid, type ServiceError } from "../../errors.js";
import { jsonErrorAt, positionAfter } from "../../formats/json-error.js";
import { type JsonSize, jsonSize, parsedBytes } from "../../formats/json-size.js";
import { UNCOUNTED_BYTES } from "../../memory-budget.js";
import {
  type BodyDependencies,
  bodyError,
  discard,
  encodingOf,
  refuseInflated,
  refuseUnlessJson,
  reservationOf,
  tooLarge,
  utf8Of,
  type WholeBody,
} from "./body.js";
import type { ApiContext } from "./route.js";

/**
 * Middleware that reads a small body of JSON into `ctx.request.body`: UTF-8, plain or gzip, of at most `body_bytes`
 * after inflation, nested at most `nesting` deep.
 */
export function jsonBody(
  { body_bytes, nesting }: Pick<Limits, "body_bytes" | "nesting">,
  dependencies: BodyDependencies,
): (ctx: ApiContext, next: Koa.Next) => Promise<void> {
  // Reads bodies as bytes: the parser would replace invalid UTF-8.
  const parser = bodyParser({
    enableTypes: ["text"],
    extendTypes: { text: ["application/json"] },
    textLimit: body_bytes,
    encoding: null,
    onerror: (error: unknown, ctx: ApiContext) => refuse(error, ctx, body_bytes),
  } as unknown as bodyParser.Options) as unknown as (ctx: ApiContext, next: Koa.Next) => Promise<void>;

  return (ctx, next) => {
    const { req, request } = ctx;
    writeHeadersPlainly(ctx);
    const memory = reservationOf(ctx, dependencies);
    const most = mostBytes(req, body_bytes, dependencies.inflation);
    if (most > UNCOUNTED_BYTES) memory.reserve(most);
    let received = 0;
    req.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    // When its sender disconnects, the parser would wait for the rest of a gzip body.
    const broken = new Promise<never>((_, reject) => req.once("error", (error) => reject(bodyError(error))));
    const read = parser(ctx, async () => {
      const inflated = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      refuseInflated(inflated.length, received, dependencies.inflation);
      const bytes = utf8Of(inflated);
      if (bytes.length > UNCOUNTED_BYTES) await dependencies.parsing.next();
      reserveParsed({ bytes, memory });
      request.body = parseJson(bytes.toString(), nesting) as object;
      return next();
    });
    return Promise.race([read, broken]);
  };
}

/**
 * Throws unless the body is JSON, plain or gzip, and normalizes its headers to the spelling that the parser accepts.
 */
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

/** Returns the maximum bytes of a body after inflation, at most `limit`; `limit` for an unknown length. */
function mostBytes({ headers }: IncomingMessage, limit: number, inflation: number): number {
  const factor = headers["content-encoding"] === "gzip" ? inflation : 1;
  return Math.min(limit, factor * Number(headers["content-length"] ?? limit));
}

/** Reserves the memory of the parsed body unless it is small. `check` may refuse it by its contents. */
export function reserveParsed({ bytes, memory }: WholeBody, check?: (size: JsonSize) => void): void {
  if (bytes.length <= UNCOUNTED_BYTES) return;
  const text = bytes.toString();
  const size = jsonSize(text);
  check?.(size);
  memory.reserve(parsedBytes(text, size));
}

/** Parses the text of a body; with `nesting`, throws for a deeper value. */
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
    throw notJson(text.slice(0, jsonErrorAt(text)));
  }
}

/** Returns the error for a body that is invalid JSON after the text `before`. */
export function notJson(before: string): ServiceError {
  const { line, column } = positionAfter(before);
  return invalid("not_json", "", `The body is not JSON: line ${line}, column ${column}`);
}

/** Returns the depth of a JSON value, at most `limit` + 1. Not recursive, because the sender controls the depth. */
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
