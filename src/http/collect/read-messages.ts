import { createHash } from "node:crypto";
import type { Limits } from "../../config.js";
import type { RequestItem } from "../../entities/collect-request.js";
import { type MessageRules, parseMessage } from "../../entities/parse-message.js";
import { invalid, ServiceError } from "../../errors.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import { mediaType, readLines, readText } from "../body.js";
import type { ApiContext } from "../route.js";

/** The messages of a body, as they arrive. */
export interface MessageBody {
  /** Whether the body is one object: then it is refused as a whole. */
  readonly single: boolean;
  readonly items: AsyncIterable<readonly RequestItem[]>;
}

export type MessageLimits = Pick<Limits, "write_body_bytes" | "line_bytes" | "inflation">;

const LINE_TYPES = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];

/** Opens a body: JSON is read whole, within its limit, lines of JSON one by one. */
export async function readMessages(ctx: ApiContext, rules: MessageRules, limits: MessageLimits): Promise<MessageBody> {
  const type = mediaType(ctx);
  if (LINE_TYPES.includes(type)) return { single: false, items: linesOf(ctx, rules, limits) };
  if (type !== "application/json") {
    throw new ServiceError("unsupported-media", "The body must be application/json or application/x-ndjson in UTF-8");
  }
  const text = await readText(ctx, limits.write_body_bytes);
  const body = parseJson(text, "The body is not JSON");
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  const digest = createHash("sha256").update(text).digest("hex");
  const bytes = text.length / Math.max(1, messages.length);
  const single = !Array.isArray(body);
  const itemAt = (index: number): RequestItem => ({
    text: `${digest} ${index}`,
    bytes,
    parse: (now) => parseMessage(messages[index], rules, now),
    place: (path) => (single ? wirePath(path) : `[${index}]${path === "" ? "" : `.${wirePath(path)}`}`),
  });
  return { single, items: itemsOf(messages.length, itemAt) };
}

const SLICE = 500;

/** Items made as they are wanted: a body may hold millions of tiny ones. */
async function* itemsOf(count: number, itemAt: (index: number) => RequestItem): AsyncGenerator<readonly RequestItem[]> {
  for (let from = 0; from < count; from += SLICE) {
    yield Array.from({ length: Math.min(SLICE, count - from) }, (_, i) => itemAt(from + i));
  }
}

async function* linesOf(
  ctx: ApiContext,
  rules: MessageRules,
  { line_bytes: lineBytes, inflation }: MessageLimits,
): AsyncGenerator<readonly RequestItem[]> {
  for await (const lines of readLines(ctx, { lineBytes, inflation })) yield lines.map((line) => itemOf(line, rules));
}

function itemOf({ number, text, issue }: Line, rules: MessageRules): RequestItem {
  return {
    text: issue ?? text,
    bytes: text.length,
    parse(now) {
      if (issue !== undefined) throw invalid(issue, "", lineIssues[issue]);
      return parseMessage(parseJson(text, "The line is not JSON"), rules, now);
    },
    place: (path) => `line ${number}${path === "" ? "" : `, ${wirePath(path)}`}`,
  };
}

/** The path of an issue in a message: an identity field as it was sent, or a parameter of the request. */
function wirePath(path: string): string {
  return path === "timestampField" ? "timestamp_field" : path;
}

function parseJson(text: string, message: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    throw invalid("not_json", "", message);
  }
}

/**
 * The value of JSON text. An integer that a double would round (9007199254740993, say) comes as `Infinity`, so that it is refused
 * instead of changed. A number with a fraction or an exponent is meant as a double. Throws when the text is not JSON.
 */
function parseExactly(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isInString = stringsOf(json);
  const marked = json.replace(LONG_NUMBER, (number, place: number) =>
    isInString(place) || !isRounded(number) ? number : NO_NUMBER,
  );
  return marked === json ? value : JSON.parse(marked);
}

/** A number that JSON allows and no double holds: what reads it as a value refuses it. */
const NO_NUMBER = "1e999";

/** A number that begins with 16 digits or more: integers of fewer are held exactly by a double. */
const LONG_NUMBER = /(?<![\d.eE]|[eE][+-])-?\d{16,}(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Says of places in valid JSON, in ascending order, whether they are in a string. */
function stringsOf(json: string): (place: number) => boolean {
  let isOpen = false;
  let quote = json.indexOf('"');
  return (place) => {
    while (quote >= 0 && quote < place) {
      if (!isOpen || !isEscaped(json, quote)) isOpen = !isOpen;
      quote = json.indexOf('"', quote + 1);
    }
    return isOpen;
  };
}

/** Whether an odd number of backslashes stands before this place. */
function isEscaped(json: string, place: number): boolean {
  let before = place;
  while (json[before - 1] === "\\") before -= 1;
  return (place - before) % 2 === 1;
}

/** Digits of the largest integers that a double can hold. */
const MOST_DIGITS = 309;

/** Whether the number is an integer that no double is. */
function isRounded(number: string): boolean {
  if (!/^-?\d+$/.test(number)) return false;
  const value = Number(number);
  if (Number.isSafeInteger(value)) return false;
  return number.length > MOST_DIGITS + 1 || BigInt(number) !== BigInt(value);
}
