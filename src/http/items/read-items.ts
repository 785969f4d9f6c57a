import { createHash } from "node:crypto";
import { yieldWhenDue } from "../../async/yielding.js";
import type { Limits } from "../../config/settings.js";
import type { RequestItem, RequestItems } from "../../entities/requests/batches.js";
import { invalid, ServiceError } from "../../errors.js";
import { parseExactly } from "../../formats/exact-json.js";
import { type JsonArray, splitArray, startOf } from "../../formats/json-array.js";
import { lineNotJson } from "../../formats/json-error.js";
import { parsedBytes } from "../../formats/json-size.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import { isJsonLines, readBody, readLines } from "../core/body.js";
import { notJson, parsePart } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";

/** Items of a body as they arrive. */
export interface ItemBody<T> extends RequestItems<T> {
  /** Whether the body is a single object; then one issue refuses the whole request. */
  readonly single: boolean;
}

export type ItemLimits = Pick<Limits, "write_body_bytes">;

/** Rules for the items of a body. */
export interface ItemRules<T> {
  /** Parses an item. Throws `invalid` with one issue. */
  parse(json: unknown): T;
  /** Returns the wire name of the path of an issue. */
  wirePath(path: string): string;
  /** Maximum items of an array. */
  readonly most: number;
  /** Maximum estimated memory of a parsed item of an array, bytes. A larger item has the issue `tooLarge`. */
  readonly itemBytes: number;
  /** Maximum bytes of the text of an item of an array; a larger one is not parsed either. Unlimited if absent. */
  readonly textBytes?: number;
  readonly tooLarge: { readonly code: string; readonly message: string };
}

/** Opens a body. JSON is read completely and validated; JSON lines are read one by one. */
export async function readItems<T>(ctx: ApiContext, rules: ItemRules<T>, limits: ItemLimits): Promise<ItemBody<T>> {
  const { memory } = ctx.state;
  if (isJsonLines(ctx)) {
    return { single: false, items: linesOf(ctx, rules), memory };
  }
  const bytes = await readBody(ctx, limits.write_body_bytes);
  const array = splitArray(bytes, rules.most);
  if (array !== undefined && array.ends.length > rules.most) {
    const limit = `More than ${rules.most} items in an array`;
    throw new ServiceError("too-large", `${limit}; send them as NDJSON (application/x-ndjson), of any number`);
  }
  const items = await elementsOf(array ?? soleElement(bytes), rules);
  return { single: array === undefined, items: [items], memory };
}

/** Returns a body that is no array as the only element of one. */
export function soleElement(bytes: Buffer): JsonArray {
  return { bytes, start: 0, ends: [bytes.length], brokenAt: undefined };
}

/** Returns the elements of an array. Throws unless all are JSON, so that nothing of an invalid body is processed. */
export async function elementsOf<T>(
  elements: JsonArray,
  { parse, wirePath, itemBytes, textBytes = Number.POSITIVE_INFINITY, tooLarge }: Omit<ItemRules<T>, "most">,
): Promise<readonly RequestItem<T>[]> {
  const { bytes, start, ends, brokenAt } = elements;
  // The first element of an array comes after its bracket.
  const single = start === 0;
  let digest: string | undefined;
  const items: RequestItem<T>[] = [];
  for (let index = 0; index < ends.length; index += 1) {
    await yieldWhenDue();
    const from = startOf(elements, index);
    const end = ends[index] as number;
    const textOf = () => bytes.toString("utf8", from, end);
    const size = end - from > textBytes ? Number.POSITIVE_INFINITY : parsedBytes(textOf());
    if (size <= itemBytes) parsePart(textOf(), () => bytes.toString("utf8", 0, from));
    items.push({
      get text() {
        digest ??= createHash("sha256").update(bytes).digest("hex");
        return `${digest} ${index}`;
      },
      bytes: size > itemBytes ? 0 : size,
      parse() {
        if (size > itemBytes) throw invalid(tooLarge.code, "", tooLarge.message);
        return parse(parseExactly(textOf()));
      },
      place: (path) => (single ? wirePath(path) : `[${index}]${path === "" ? "" : `.${wirePath(path)}`}`),
    });
  }
  if (brokenAt !== undefined) throw notJson(bytes.toString("utf8", 0, brokenAt));
  return items;
}

async function* linesOf<T>(ctx: ApiContext, rules: ItemRules<T>): AsyncGenerator<readonly RequestItem<T>[]> {
  for await (const lines of readLines(ctx)) yield lines.map((line) => itemOf(line, rules));
}

function itemOf<T>({ number, text, issue }: Line, { parse, wirePath }: ItemRules<T>): RequestItem<T> {
  return {
    text: issue ?? text,
    bytes: parsedBytes(text),
    parse() {
      if (issue !== undefined) throw invalid(issue, "", lineIssues[issue]);
      return parse(parseLine(text));
    },
    place: (path) => `line ${number}${path === "" ? "" : `, ${wirePath(path)}`}`,
  };
}

function parseLine(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    throw invalid("not_json", "", lineNotJson(text));
  }
}
