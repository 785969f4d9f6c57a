import { isUtf8 } from "node:buffer";
import { invalid, ServiceError } from "../errors.js";
import { bodyChunks } from "./body-chunks.js";
import { tooLarge } from "./lines.js";
import type { ApiContext } from "./route.js";

/** The media type of the body, lower-case and without parameters; "" when none is named. Text that is not UTF-8 is refused. */
export function mediaType(ctx: ApiContext): string {
  const [type = "", ...parameters] = ctx.get("Content-Type").toLowerCase().split(";");
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

async function readBytes(ctx: ApiContext, limit: number): Promise<Buffer> {
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

/** A plain body that came along with its head, as most do: it is there already, and nothing has to be waited for. */
function arrivedBytes({ req }: ApiContext, limit: number): Buffer | undefined {
  const { complete, readableLength, headers } = req;
  if (!complete || readableLength === 0 || readableLength > limit) return undefined;
  return headers["content-encoding"] === undefined ? (req.read() as Buffer) : undefined;
}

/** The text of a body: UTF-8, else it is refused. A byte order mark at its start is left out. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid("not_utf8", "", "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** What the text of a body says, nested at most `nesting` deep. */
export function parseJson(text: string, nesting: number): unknown {
  const body = parse(text);
  if (depthOf(body, nesting) > nesting) throw invalid("too_deep", "", `The body is nested more than ${nesting} deep`);
  return body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("not_json", "", "The body is not JSON");
  }
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
