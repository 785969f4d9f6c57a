import type Koa from "koa";
import bodyParser from "koa-bodyparser";
import type { Limits } from "../config/settings.js";
import { invalid, type ServiceError } from "../errors.js";
import { jsonErrorAt, positionAfter } from "../formats/json-error.js";
import { type JsonSize, jsonSize, parsedBytes } from "../formats/json-size.js";
import { type Reservation, UNCOUNTED_BYTES } from "../memory-budget.js";
import {
  type BodyParts,
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
 * Middleware that reads a small body of JSON into `ctx.request.body`: UTF-8, plain or gzip, of at most `body_bytes` after inflation,
 * nested at most `nesting` deep.
 */
export function jsonBody(
  { body_bytes, nesting }: Pick<Limits, "body_bytes" | "nesting">,
  parts: BodyParts,
): (ctx: ApiContext, next: Koa.Next) => Promise<void> {
  // As bytes: the parser itself would put other characters in the place of bytes that are not UTF-8.
  const parser = bodyParser({
    enableTypes: ["text"],
    extendTypes: { text: ["application/json"] },
    textLimit: body_bytes,
    encoding: null,
    onerror: (error: unknown, ctx: ApiContext) => refuse(error, ctx, body_bytes),
  } as unknown as bodyParser.Options) as unknown as (ctx: ApiContext, next: Koa.Next) => Promise<void>;

  return (ctx, next) => {
    writeHeadersPlainly(ctx);
    const memory = reservationOf(ctx, parts);
    const arrival = followArrival(ctx, memory, body_bytes, parts.inflation);
    const read = parser(ctx, async () => {
      const { request } = ctx;
      if (arrival.refused !== undefined) throw arrival.refused;
      const inflated = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      refuseInflated(inflated.length, arrival.received, parts.inflation);
      const bytes = utf8Of(inflated);
      if (bytes.length > UNCOUNTED_BYTES) await parts.parsing.next();
      reserveParsed({ bytes, memory });
      request.body = parseJson(bytes.toString(), nesting) as object;
      return next();
    });
    return Promise.race([read, arrival.failed]);
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

/** A body on its way. */
interface Arrival {
  /** Bytes that were received so far, before inflation. */
  received: number;
  /** Why there is no memory for the body; what is left of it is read all the same. */
  refused: unknown;
  /** Rejects when the sender disconnects, as inflation would wait for the rest, or when there is no memory for what arrives. */
  readonly failed: Promise<never>;
}

/** Counts what arrives of a body, and reserves the memory that the parser takes for it, `limit` bytes at most. */
function followArrival({ req }: ApiContext, memory: Reservation, limit: number, inflation: number): Arrival {
  const factor = req.headers["content-encoding"] === "gzip" ? inflation : 1;
  let reserved = 0;
  const arrival: Arrival = {
    received: 0,
    refused: undefined,
    failed: new Promise<never>((_, reject) => {
      req.once("error", (error) => reject(bodyError(error)));
      req.on("data", (chunk: Buffer) => {
        arrival.received += chunk.length;
        const taken = Math.min(limit, factor * arrival.received);
        if (taken <= UNCOUNTED_BYTES || arrival.refused !== undefined) return;
        try {
          memory.reserve(taken - reserved);
          reserved = taken;
        } catch (error) {
          arrival.refused = error;
          reject(error);
        }
      });
    }),
  };
  return arrival;
}

/** Reserves the memory that a body is parsed to, unless it is small. `check` may refuse it for what it consists of. */
export function reserveParsed({ bytes, memory }: WholeBody, check?: (size: JsonSize) => void): void {
  if (bytes.length <= UNCOUNTED_BYTES) return;
  const text = bytes.toString();
  const size = jsonSize(text);
  check?.(size);
  memory.reserve(parsedBytes(text, size));
}

/** Parses the text of a body; with `nesting`, refuses a deeper value. */
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

/** The error for a body that stops being JSON after the text `before`. */
export function notJson(before: string): ServiceError {
  const { line, column } = positionAfter(before);
  return invalid("not_json", "", `The body is not JSON: line ${line}, column ${column}`);
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
