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
