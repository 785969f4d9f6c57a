import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type Koa from "koa";
import bodyParser from "koa-bodyparser";
import type { Limits } from "../config.js";
import { invalid, ServiceError } from "../errors.js";
import { type Line, LineSplitter } from "../formats/line-splitter.js";
import { BROKEN_OFF } from "./connections.js";
import type { ApiContext } from "./route.js";

/** The media type of the body, lower-case and without parameters; "" when none is named. Text that is not UTF-8 is refused. */
export function mediaType(ctx: ApiContext): string {
  const given = ctx.req.headers["content-type"] ?? "";
  if (given === "application/json") return given;
  const [type = "", ...parameters] = given.toLowerCase().split(";");
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim() !== "charset") continue;
    const charset = value.trim().replaceAll('"', "");
    if (charset !== "utf-8" && charset !== "utf8")
      throw new ServiceError("unsupported-media", "The body must be UTF-8");
  }
  return type.trim();
}

/** Refuses a body of another type than JSON. */
export function refuseUnlessJson(ctx: ApiContext): void {
  if (mediaType(ctx) === "application/json") return;
  throw new ServiceError("unsupported-media", "The body must be application/json in UTF-8");
}

/** The whole body as text, plain or gzip, of at most `limit` bytes after inflation. */
export async function readText(ctx: ApiContext, limit: number): Promise<string> {
  return textOf(await readBytes(ctx, limit));
}

/** The same as bytes. */
export async function readBytes(ctx: ApiContext, limit: number): Promise<Buffer> {
  const arrived = arrivedBytes(ctx, limit);
  if (arrived !== undefined) return arrived;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of bodyChunks(ctx)) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
}

/**
 * A plain body that came along with its head, as most do: it is there already, and nothing has to be waited for. Node says that a
 * request is complete a little later.
 */
function arrivedBytes({ req }: ApiContext, limit: number): Buffer | undefined {
  const { readableLength, headers } = req;
  if (readableLength === 0 || readableLength > limit || String(readableLength) !== headers["content-length"]) return;
  if (headers["content-encoding"] !== undefined) return;
  const bytes: Buffer | null = req.read();
  // Lets the request end.
  req.resume();
  return bytes ?? undefined;
}

/** The text of a body: UTF-8, else it is refused. A byte order mark at its start is left out. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid("not_utf8", "", "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/**
 * The lines of a body (plain or gzip), in batches as they arrive, blank ones left out: a body of any length in constant
 * memory. A line over `lineBytes`, or not UTF-8, comes as a line with an `issue`. More than `totalBytes` after inflation, or more
 * than `inflation` times what was sent, is refused as too large.
 */
export async function* readLines(
  ctx: ApiContext,
  {
    lineBytes,
    totalBytes = Number.POSITIVE_INFINITY,
    inflation,
  }: { lineBytes: number; totalBytes?: number; inflation?: number },
): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(lineBytes);
  let bytes = 0;
  for await (const chunk of bodyChunks(ctx, inflation)) {
    bytes += chunk.length;
    if (bytes > totalBytes) throw tooLarge(totalBytes);
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest.length > 0) yield rest;
}

/** The error for a body of more than `limit` bytes. */
function tooLarge(limit: number): ServiceError {
  return new ServiceError("too-large", `The body is larger than ${limit} bytes`);
}

/** Bytes of a refused body that are read and discarded, so that its sender can read the response. */
const DISCARDED_BYTES = 64 * 1024 * 1024;

/** A body of this size after inflation may have grown by any factor, as a few equal lines do. */
const SMALL_BYTES = 65_536;

/**
 * The bytes of a body, plain or gzip (inflated here), as they come: nothing more is taken from the sender while the
 * caller is busy with a chunk. The caller may stop early and still answer. A body that inflates to more than `inflation` times
 * what was read of it so far is refused as too large.
 */
async function* bodyChunks(ctx: ApiContext, inflation = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const { req } = ctx;
  const source = encodingOf(ctx) === "gzip" ? inflated(req) : req;
  try {
    let bytes = 0;
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > SMALL_BYTES && bytes > inflation * readOf(source, bytes)) {
        throw new ServiceError("too-large", `The body inflates to more than ${inflation} times what was sent`);
      }
      yield chunk;
    }
  } catch (error) {
    throw bodyError(error);
  } finally {
    if (source !== req) {
      req.unpipe();
      source.destroy();
    }
    if (!req.readableEnded) discard(req);
  }
}

/** Bytes that were sent for the `bytes` that came out. */
function readOf(source: Readable, bytes: number): number {
  return "bytesWritten" in source && typeof source.bytesWritten === "number" ? source.bytesWritten : bytes;
}

/** How the body is encoded; another encoding is refused. */
function encodingOf(ctx: ApiContext): "identity" | "gzip" {
  const name = ctx.get("Content-Encoding").trim().toLowerCase();
  if (name === "" || name === "identity") return "identity";
  if (name === "gzip" || name === "x-gzip") return "gzip";
  throw new ServiceError("unsupported-media", "The body must be plain or gzip");
}

function inflated(req: IncomingMessage): Readable {
  const gunzip = createGunzip();
  req.once("error", (error) => gunzip.destroy(error));
  return req.pipe(gunzip);
}

/** An error of a body for which its sender is to blame, in words; any other error as it is. */
function bodyError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return invalid("not_gzip", "", "The body is not whole, valid gzip");
  if (BROKEN_OFF.includes(code)) {
    return invalid("incomplete", "", "The body ended before its end");
  }
  return error;
}

/** Reads and throws away the rest of a body, up to a bound. */
function discard(req: IncomingMessage): void {
  let left = DISCARDED_BYTES;
  req.on("error", () => {});
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  req.resume();
}

/**
 * Middleware that reads a small body of JSON into `ctx.request.body`: UTF-8, plain or gzip, of at most `body_bytes` after inflation,
 * nested at most `nesting` deep.
 */
export function jsonBody({
  body_bytes,
  nesting,
}: Pick<Limits, "body_bytes" | "nesting">): (ctx: ApiContext, next: Koa.Next) => Promise<void> {
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
    const read = parser(ctx, () => {
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
