import type { IncomingMessage } from "node:http";
import bodyParser from "koa-bodyparser";
import { yieldToStarted } from "../../async/yielding.js";
import { invalid, type ServiceError } from "../../errors.js";
import { type JsonArray, type SplitObject, startOf } from "../../formats/json-array.js";
import { jsonErrorAt, positionAfter } from "../../formats/json-error.js";
import { parsedBytes } from "../../formats/json-size.js";
import { type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import {
  bodyError,
  countReceived,
  discard,
  encodingOf,
  hasBody,
  JSON_TYPE,
  MAX_INFLATION,
  refuseInflated,
  refuseUnlessJson,
  tooLarge,
  utf8Of,
} from "./body.js";
import type { ApiContext, Body } from "./route.js";
import { bodyCheck } from "./validation.js";

/**
 * Creates the reader of a route's small JSON body: UTF-8, plain or gzip, of at most `bodyBytes` after inflation,
 * nested at most 16 deep unless the route limits that itself. The time in which it waits for the caller does not count
 * for the deadline.
 */
export function jsonReader(
  { schema, optional = false, limitsNesting = false }: Body,
  bodyBytes: number,
): (ctx: ApiContext) => Promise<unknown> {
  const check = bodyCheck(schema);
  const types = { enableTypes: ["text"], extendTypes: { text: [JSON_TYPE] } };
  // Latin-1 keeps every byte: as UTF-8 the parser would replace invalid ones.
  const options = { ...types, textLimit: String(bodyBytes), encoding: "latin1" };
  const parser = bodyParser(options);

  async function readAll(ctx: ApiContext): Promise<Buffer> {
    const { req, request } = ctx;
    writeHeadersPlainly(ctx);
    ctx.state.memory.reserveUnlessSmall(mostBytes(req, bodyBytes));
    const received = countReceived(req);
    // When its sender disconnects, the parser would wait for the rest of a gzip body.
    const broken = new Promise<never>((_, reject) => req.once("error", reject));
    try {
      await Promise.race([parser(ctx, async () => {}), broken]);
    } catch (error) {
      req.unpipe();
      discard(req);
      const isTooLarge = error instanceof Error && "type" in error && error.type === "entity.too.large";
      throw isTooLarge ? tooLarge(bodyBytes) : bodyError(error);
    }
    const bytes = Buffer.from(String(request.rawBody ?? ""), "latin1");
    refuseInflated(bytes.length, received());
    return utf8Of(bytes);
  }

  return async (ctx) => {
    if (optional && !hasBody(ctx)) return {};
    const { deadline, memory } = ctx.state;
    deadline.pause();
    const bytes = await readAll(ctx);
    deadline.resume();
    if (bytes.length > UNCOUNTED_BYTES) await yieldToStarted();
    reserveParsed(bytes, memory);
    return check(limitsNesting ? parsePart(bytes.toString()) : parseJson(bytes.toString()));
  };
}

/**
 * Throws unless the body is JSON, plain or gzip, and normalizes its headers to the spelling that the parser accepts.
 */
function writeHeadersPlainly(ctx: ApiContext): void {
  refuseUnlessJson(ctx);
  const { headers } = ctx.req;
  headers["content-type"] = JSON_TYPE;
  headers["content-encoding"] = encodingOf(ctx);
}

/** Returns the maximum bytes of a body after inflation, at most `limit`; `limit` for an unknown length. */
function mostBytes({ headers }: IncomingMessage, limit: number): number {
  const factor = headers["content-encoding"] === "gzip" ? MAX_INFLATION : 1;
  return Math.min(limit, factor * Number(headers["content-length"] ?? limit));
}

/** Reserves the memory of the parsed body unless it is small. */
export function reserveParsed(bytes: Buffer, memory: Reservation): void {
  if (bytes.length > UNCOUNTED_BYTES) memory.reserve(parsedBytes(bytes.toString()));
}

/** Maximum levels of objects and arrays in JSON. */
export const MAX_NESTING = 16;

/** Parses the text of a body. Throws when it is nested too deep. */
export function parseJson(text: string): unknown {
  const body = parsePart(text);
  if (depthOf(body, MAX_NESTING) > MAX_NESTING)
    throw invalid("too_deep", "", `The body is nested more than ${MAX_NESTING} deep`);
  return body;
}

/** Parses a part of a body. `before` returns the text before it, for the position of an error. */
export function parsePart(text: string, before: () => string = () => ""): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(before() + text.slice(0, jsonErrorAt(text)));
  }
}

/** Parses the elements `from` to `to` of a list. */
export function parseElements(list: JsonArray, from: number, to: number): readonly unknown[] {
  const start = startOf(list, from);
  const text = `[${list.bytes.toString("utf8", start, list.ends[to])}]`;
  try {
    const elements: unknown[] = JSON.parse(text);
    // A blank element is detected only by its absence.
    if (elements.length > to - from) return elements;
  } catch {
    // The position is determined below.
  }
  const before = text.slice(1, Math.min(jsonErrorAt(text), text.length - 1));
  throw notJson(list.bytes.toString("utf8", 0, start) + before);
}

/** Parses an object without the lists that were split off. */
export function parseRest({ bytes, rest, offsetOf }: SplitObject): unknown {
  const text = rest.toString();
  try {
    return JSON.parse(text);
  } catch {
    const offset = Buffer.byteLength(text.slice(0, jsonErrorAt(text)));
    throw notJson(bytes.toString("utf8", 0, offsetOf(offset)));
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
