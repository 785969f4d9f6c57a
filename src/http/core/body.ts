import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { YieldBudget } from "../../async/yielding.js";
import { invalid, ServiceError } from "../../errors.js";
import { type Line, LineSplitter } from "../../formats/line-splitter.js";
import { type MemoryBudget, type Reservation, UNCOUNTED_BYTES } from "../../memory-budget.js";
import { BROKEN_OFF, onResponseClosed } from "../edge/connections.js";
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

const LINE_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

/** Whether a body has a JSON value on each line; false for a body that is one JSON value. Another type is refused. */
export function isJsonLines(ctx: ApiContext): boolean {
  const type = mediaType(ctx);
  if (LINE_TYPES.includes(type)) return true;
  if (type === "application/json") return false;
  throw new ServiceError("unsupported-media", "The body must be application/json or application/x-ndjson in UTF-8");
}

/** Whether a request comes with a body, if only an empty one in parts. */
export function hasBody({ req: { headers } }: ApiContext): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Refuses a body of another type than JSON. */
export function refuseUnlessJson(ctx: ApiContext): void {
  if (mediaType(ctx) === "application/json") return;
  throw new ServiceError("unsupported-media", "The body must be application/json in UTF-8");
}

/** What reading the bodies of all requests shares. */
export interface BodyParts {
  /** The memory that bodies and what they are parsed to may take, with other work. */
  readonly memory: MemoryBudget;
  /** Lets one large text be parsed in each round of the event loop. */
  readonly parsing: YieldBudget;
  /** Bytes that one byte of a gzip body may inflate to. */
  readonly inflation: number;
}

/** Returns the one reservation of a request, which ends when its response is sent or its caller has disconnected. */
export function reservationOf({ res, state }: ApiContext, { memory }: Pick<BodyParts, "memory">): Reservation {
  state.memory ??= memory.open(
    (then) => onResponseClosed(res, then),
    () => state.deadline.restart(),
  );
  return state.memory;
}

/** A whole body. */
export interface WholeBody {
  readonly bytes: Buffer;
  /** What the body takes is reserved here. */
  readonly memory: Reservation;
}

/** Reads a whole body as `readBytes` does: UTF-8, without a byte order mark. */
export async function readBody(ctx: ApiContext, limit: number, parts: BodyParts): Promise<WholeBody> {
  const { bytes, memory } = await readBytes(ctx, limit, parts);
  return { bytes: utf8Of(bytes), memory };
}

/**
 * Reads a whole body, plain or gzip, of at most `limit` bytes after inflation. It is refused as `unavailable` when there is no memory for
 * it. A body that is not small resolves when it may be parsed: one in each round of the event loop.
 */
export async function readBytes(ctx: ApiContext, limit: number, parts: BodyParts): Promise<WholeBody> {
  const memory = reservationOf(ctx, parts);
  const arrived = arrivedBytes(ctx, limit);
  if (arrived !== undefined) return { bytes: arrived, memory };
  const chunks: Buffer[] = [];
  let bytes = 0;
  let reserved = 0;
  for await (const chunk of bodyChunks(ctx, parts.inflation)) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    if (bytes > UNCOUNTED_BYTES) {
      // Twice: the chunks, and the whole that they are joined to.
      memory.reserve(2 * bytes - reserved);
      reserved = 2 * bytes;
    }
    chunks.push(chunk);
  }
  if (reserved > 0) await parts.parsing.next();
  const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
  memory.release(reserved / 2);
  return { bytes: whole, memory };
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

/** The bytes of a text without its byte order mark. Refused unless they are UTF-8. */
export function utf8Of(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw invalid("not_utf8", "", "The body is not valid UTF-8");
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * The lines of a body (plain or gzip), in batches as they arrive, blank ones left out: a body of any length in constant
 * memory. A batch is split off when it may be parsed: one in each round of the event loop. A line over `lineBytes`, or not UTF-8, comes
 * as a line with an `issue`. A body that inflates to more than may be is refused as too large.
 */
export async function* readLines(
  ctx: ApiContext,
  lineBytes: number,
  { parsing, inflation }: BodyParts,
): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(lineBytes);
  for await (const chunk of bodyChunks(ctx, inflation)) {
    await parsing.next();
    const lines = splitter.push(chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = splitter.end();
  if (rest.length > 0) yield rest;
}

/** The error for a body of more than `limit` bytes. */
export function tooLarge(limit: number): ServiceError {
  return new ServiceError("too-large", `The body is larger than ${limit} bytes`);
}

/** Bytes of a refused body that are read and discarded, so that its sender can read the response. */
const DISCARDED_BYTES = 64 * 1024 * 1024;

/** A body of this size after inflation may have grown by any factor, as a few equal lines do. */
const ANY_INFLATION_BYTES = 65_536;

/** Refuses what `received` bytes have inflated to when it is more than `inflation` times as much. */
export function refuseInflated(bytes: number, received: number, inflation: number): void {
  if (bytes <= Math.max(ANY_INFLATION_BYTES, inflation * received)) return;
  throw new ServiceError("too-large", `The body inflates to more than ${inflation} times what was sent`);
}

/**
 * The bytes of a body, plain or gzip (inflated here), as they come: nothing more is taken from the sender while the
 * caller is busy with a chunk. The caller may stop early and still answer. A body that inflates to more than `inflation` times
 * what was received of it so far is refused as too large.
 */
async function* bodyChunks(ctx: ApiContext, inflation: number): AsyncGenerator<Buffer> {
  const { req } = ctx;
  const { deadline } = ctx.state;
  const isGzip = encodingOf(ctx) === "gzip";
  let received = 0;
  if (isGzip) {
    req.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
  }
  const source = isGzip ? inflated(req) : req;
  try {
    let bytes = 0;
    deadline.pause();
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (isGzip) refuseInflated(bytes, received, inflation);
      deadline.resume();
      yield chunk;
      deadline.pause();
    }
    deadline.resume();
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

/** How the body is encoded; another encoding is refused. */
export function encodingOf(ctx: ApiContext): "identity" | "gzip" {
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
export function bodyError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code.startsWith("Z_")) return invalid("not_gzip", "", "The body is not whole, valid gzip");
  if (BROKEN_OFF.includes(code)) {
    return invalid("incomplete", "", "The body ended before its end");
  }
  return error;
}

/** Reads and throws away the rest of a body, up to a bound. */
export function discard(req: IncomingMessage): void {
  let left = DISCARDED_BYTES;
  req.on("error", () => {});
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.destroy();
  });
  req.resume();
}
