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
  const elements = array ?? { bytes, start: 0, ends: [bytes.length], brokenAt: undefined };
  const sizes = await checkedSizes(elements, rules.itemBytes);
  return { single: array === undefined, items: elementsOf(elements, sizes, rules), memory };
}

/**
 * Checks that every element is JSON, so that nothing of an invalid body is processed. Resolves with the memory of each
 * parsed element, bytes; 0 for an element of more than `textBytes`, which is not parsed.
 */
export async function checkedSizes(
  elements: JsonArray,
  itemBytes: number,
  textBytes = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  const { bytes, ends, brokenAt } = elements;
  const sizes: number[] = [];
  for (let index = 0; index < ends.length; index += 1) {
    await yieldWhenDue();
    if ((ends[index] as number) - startOf(elements, index) > textBytes) {
      sizes.push(0);
      continue;
    }
    const text = textAt(elements, index);
    const size = parsedBytes(text);
    sizes.push(size);
    if (size <= itemBytes) parsePart(text, () => bytes.toString("utf8", 0, startOf(elements, index)));
  }
  if (brokenAt !== undefined) throw notJson(bytes.toString("utf8", 0, brokenAt));
  return sizes;
}

/** Returns the text of an element. */
export function textAt(elements: JsonArray, index: number): string {
  return elements.bytes.toString("utf8", startOf(elements, index), elements.ends[index]);
}

async function* elementsOf<T>(
  elements: JsonArray,
  sizes: readonly number[],
  { parse, wirePath, itemBytes, tooLarge }: ItemRules<T>,
): AsyncGenerator<readonly RequestItem<T>[]> {
  // The first element of an array comes after its bracket.
  const single = elements.start === 0;
  const digest = createHash("sha256").update(elements.bytes).digest("hex");
  yield sizes.map(
    (size, index): RequestItem<T> => ({
      text: `${digest} ${index}`,
      bytes: size > itemBytes ? 0 : size,
      parse() {
        if (size > itemBytes) throw invalid(tooLarge.code, "", tooLarge.message);
        return parse(parseExactly(textAt(elements, index)));
      },
      place: (path) => (single ? wirePath(path) : `[${index}]${path === "" ? "" : `.${wirePath(path)}`}`),
    }),
  );
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
