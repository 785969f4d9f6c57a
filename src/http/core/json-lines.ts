import { ServiceError } from "../../errors.js";
import { jsonErrorAt, positionAfter } from "../../formats/json-error.js";
import { mediaType } from "./body.js";
import type { ApiContext } from "./route.js";

const LINE_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

/** Whether a body has a JSON value on each line; false for a body that is one JSON value. Another type is refused. */
export function isJsonLines(ctx: ApiContext): boolean {
  const type = mediaType(ctx);
  if (LINE_TYPES.includes(type)) return true;
  if (type === "application/json") return false;
  throw new ServiceError("unsupported-media", "The body must be application/json or application/x-ndjson in UTF-8");
}

/** The issue of a line that is not JSON, for people. */
export function lineNotJson(text: string): string {
  const { column } = positionAfter(text.slice(0, jsonErrorAt(text)));
  return `The line is not JSON: column ${column}`;
}
