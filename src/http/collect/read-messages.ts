import { createHash } from "node:crypto";
import type { Limits } from "../../config/settings.js";
import type { RequestItem } from "../../entities/collect/collect-request.js";
import { MESSAGE_MEMORY_BYTES, type MessageRules, parseMessage } from "../../entities/collect/parse-message.js";
import { invalid, ServiceError } from "../../errors.js";
import { type JsonArray, splitArray, startOf } from "../../formats/json-array.js";
import { jsonErrorAt, lineNotJson } from "../../formats/json-error.js";
import { parsedBytes } from "../../formats/json-size.js";
import { type Line, lineIssues } from "../../formats/line-splitter.js";
import type { Reservation } from "../../memory-budget.js";
import { type BodyDependencies, isJsonLines, readBody, readLines, reservationOf } from "../core/body.js";
import { notJson } from "../core/json-body.js";
import type { ApiContext } from "../core/route.js";

/** Messages of a body as they arrive. */
export interface MessageBody {
  /** Whether the body is a single object; then one issue refuses the whole request. */
  readonly single: boolean;
  readonly items: AsyncIterable<readonly RequestItem[]>;
  /** Reservation of the messages' memory. */
  readonly memory: Reservation;
  /** See `CollectRequest`. */
  pause(): Promise<void> | undefined;
}

export type MessageLimits = Pick<Limits, "write_body_bytes" | "line_bytes" | "inflation" | "batch_messages">;

/** Opens a body. JSON is read completely and validated; JSON lines are read one by one. */
export async function readMessages(
  ctx: ApiContext,
  rules: MessageRules,
  limits: MessageLimits,
  bodies: BodyDependencies,
): Promise<MessageBody> {
  const pause = bodies.parsing.pauses(PAUSE_MS);
  if (isJsonLines(ctx)) {
    const items = linesOf(ctx, rules, limits.line_bytes, bodies);
    return { single: false, items, memory: reservationOf(ctx, bodies), pause };
  }
  const { bytes, memory } = await readBody(ctx, limits.write_body_bytes, bodies);
  const array = splitArray(bytes, limits.batch_messages);
  if (array !== undefined && array.ends.length > limits.batch_messages) {
    const limit = `More than ${limits.batch_messages} messages in an array`;
    throw new ServiceError("too-large", `${limit}; send them as NDJSON (application/x-ndjson), of any number`);
  }
  const messages = array ?? { bytes, start: 0, ends: [bytes.length], brokenAt: undefined };
  const sizes = await checkedSizes(messages, pause);
  return { single: array === undefined, items: itemsOf(messages, sizes, rules), memory, pause };
}

/** Ms of work on messages before other requests run. */
const PAUSE_MS = 10;

/**
 * Checks that every message is JSON, so that nothing of an invalid body is stored. Resolves with the memory of each
 * parsed message, bytes.
 */
async function checkedSizes(messages: JsonArray, pause: MessageBody["pause"]): Promise<number[]> {
  const { bytes, ends, brokenAt } = messages;
  const sizes: number[] = [];
  for (let index = 0; index < ends.length; index += 1) {
    await pause();
    const text = textAt(messages, index);
    const size = parsedBytes(text);
    sizes.push(size);
    if (size <= MESSAGE_MEMORY_BYTES) checkJson(text, messages, index);
  }
  if (brokenAt !== undefined) throw notJson(bytes.toString("utf8", 0, brokenAt));
  return sizes;
}

function checkJson(text: string, messages: JsonArray, index: number): void {
  try {
    JSON.parse(text);
  } catch {
    throw notJson(messages.bytes.toString("utf8", 0, startOf(messages, index)) + text.slice(0, jsonErrorAt(text)));
  }
}

function textAt(messages: JsonArray, index: number): string {
  return messages.bytes.toString("utf8", startOf(messages, index), messages.ends[index]);
}

async function* itemsOf(
  messages: JsonArray,
  sizes: readonly number[],
  rules: MessageRules,
): AsyncGenerator<readonly RequestItem[]> {
  // The first element of an array comes after its bracket.
  const single = messages.start === 0;
  const digest = createHash("sha256").update(messages.bytes).digest("hex");
  yield sizes.map(
    (size, index): RequestItem => ({
      text: `${digest} ${index}`,
      bytes: size > MESSAGE_MEMORY_BYTES ? 0 : size,
      parse() {
        if (size > MESSAGE_MEMORY_BYTES) throw invalid("entity_too_large", "", "The message has too many values");
        return parseMessage(parseExactly(textAt(messages, index)), rules);
      },
      place: (path) => (single ? wirePath(path) : `[${index}]${path === "" ? "" : `.${wirePath(path)}`}`),
    }),
  );
}

async function* linesOf(
  ctx: ApiContext,
  rules: MessageRules,
  lineBytes: number,
  bodies: BodyDependencies,
): AsyncGenerator<readonly RequestItem[]> {
  for await (const lines of readLines(ctx, lineBytes, bodies)) yield lines.map((line) => itemOf(line, rules));
}

function itemOf({ number, text, issue }: Line, rules: MessageRules): RequestItem {
  return {
    text: issue ?? text,
    bytes: parsedBytes(text),
    parse() {
      if (issue !== undefined) throw invalid(issue, "", lineIssues[issue]);
      return parseMessage(parseLine(text), rules);
    },
    place: (path) => `line ${number}${path === "" ? "" : `, ${wirePath(path)}`}`,
  };
}

/** Returns the path of an issue on the wire: an identity field as sent, or a parameter of the request. */
function wirePath(path: string): string {
  return path === "timestampField" ? "timestamp_field" : path;
}

function parseLine(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    throw invalid("not_json", "", lineNotJson(text));
  }
}

/**
 * Parses JSON text. An integer that a double would round, such as 9007199254740993, becomes `Infinity`, so that it is
 * refused instead of changed. Numbers with a fraction or an exponent are doubles. Throws when the text is not JSON.
 */
function parseExactly(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isInString = stringsOf(json);
  const marked = json.replace(LONG_INTEGER, (number, place: number) =>
    isInString(place) || !isRounded(number) ? number : NO_NUMBER,
  );
  return marked === json ? value : JSON.parse(marked);
}

/** A JSON number beyond the range of doubles: validation refuses it. */
const NO_NUMBER = "1e999";

/** A number with at least 16 leading digits: doubles hold shorter integers exactly. */
const LONG_INTEGER = /(?<![\d.eE]|[eE][+-])-?\d{16,}(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Returns a function that tells whether a position in valid JSON is in a string. Positions must be ascending. */
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

/** Returns whether an odd number of backslashes precedes this position. */
function isEscaped(json: string, place: number): boolean {
  let before = place;
  while (json[before - 1] === "\\") before -= 1;
  return (place - before) % 2 === 1;
}

/** Digits of the largest integers that a double can hold. */
const MOST_DIGITS = 309;

/** Returns whether the number is an integer that no double equals. */
function isRounded(number: string): boolean {
  if (!/^-?\d+$/.test(number)) return false;
  const value = Number(number);
  if (Number.isSafeInteger(value)) return false;
  return number.length > MOST_DIGITS + 1 || BigInt(number) !== BigInt(value);
}
