/** One point of InfluxDB line protocol: `measurement,tag=value field=value timestamp`. */
export interface LinePoint {
  readonly measurement: string;
  readonly tags: ReadonlyMap<string, string>;
  /** A number without its suffix: NaN for `nan`, `inf`, and a number out of range. */
  readonly fields: ReadonlyMap<string, number | string | boolean>;
  /** A 64-bit integer in decimal, in the unit of the request; absent if the line has none. */
  readonly timestamp: string | undefined;
}

/** Reason why a line is not line protocol. */
interface LineProtocolIssue {
  readonly issue: string;
}

/**
 * Parses one line that is neither blank nor a comment.
 * https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
 */
export function parseLine(text: string): LinePoint | LineProtocolIssue {
  const reader = new Reader(text);
  const measurement = reader.word(MEASUREMENT_ENDS);
  if (measurement === "") return { issue: "The measurement is missing" };
  const tags = new Map<string, string>();
  while (reader.skip(COMMA)) {
    const name = reader.word(KEY_ENDS);
    if (name === "" || !reader.skip(EQUALS)) return { issue: "A tag is name=value" };
    const value = reader.word(TAG_VALUE_ENDS);
    if (value === "" || tags.has(name)) return { issue: "A tag has one value that is not empty" };
    tags.set(name, value);
  }
  if (!reader.skipSpaces()) return { issue: "The fields have to follow the tags after a blank" };
  const fields = new Map<string, number | string | boolean>();
  do {
    const name = reader.word(KEY_ENDS);
    if (name === "" || !reader.skip(EQUALS)) return { issue: "A field is name=value" };
    const isText = reader.atQuote();
    const value = isText ? reader.quoted() : fieldValue(reader.raw());
    if (fields.has(name)) return { issue: "A field has one value" };
    if (value === undefined && isText) return { issue: "A text in double quotes ends in its line" };
    if (value === undefined) return { issue: "A field's value is a number, a boolean or a text in double quotes" };
    fields.set(name, value);
  } while (reader.skip(COMMA));
  if (!reader.skipSpaces() && !reader.atEnd()) return { issue: "A blank must follow the fields" };
  const written = reader.raw();
  reader.skipSpaces();
  if (!reader.atEnd() || (written !== "" && !/^-?\d+$/.test(written)))
    return { issue: "A timestamp is a whole number" };
  const timestamp = written === "" ? undefined : withoutZeros(written);
  if (timestamp !== undefined && !isWithin(timestamp, INT64)) return { issue: "A timestamp is an integer of 64 bits" };
  return { measurement, tags, fields, timestamp };
}

/** Units of a timestamp, by their name in `precision`: number of decimal digits below a millisecond (ns), or above. */
const DIGITS_BELOW_MS = { ns: 6, us: 3, ms: 0, s: -3 } as const;

export type Precision = keyof typeof DIGITS_BELOW_MS;

export const precisions = Object.keys(DIGITS_BELOW_MS) as Precision[];

/** A metric point from a line; names and instant are not checked yet. */
interface MetricLine {
  readonly dimension: string;
  readonly dimension_id: string | undefined;
  readonly dimension_type: string;
  readonly value: number;
  /** Unix ms, rounded down; undefined if the line has no time. */
  readonly ms: number | undefined;
}

/** Reason why a valid line is not a metric point. */
interface MetricLineIssue {
  readonly code: string;
  readonly issue: string;
}

/** The measurement is the dimension, two tags name the series (others are ignored), and the only field is `value`. */
export function metricLine(
  { measurement, tags, fields, timestamp }: LinePoint,
  precision: Precision,
): MetricLine | MetricLineIssue {
  const value = fields.get("value");
  if (value === undefined || fields.size > 1)
    return { code: "unknown_field", issue: "The only field of the line must be value" };
  if (typeof value !== "number" || Number.isNaN(value))
    return { code: "invalid_value", issue: "value must be a finite number" };
  return {
    dimension: measurement,
    dimension_id: tags.get("dimension_id"),
    dimension_type: tags.get("dimension_type") ?? "size",
    value,
    ms: timestamp === undefined ? undefined : toMs(timestamp, DIGITS_BELOW_MS[precision]),
  };
}

/**
 * Fast path for a metric line of the usual form: one blank, `value=` and a number, one blank, a timestamp. `head` is
 * the text before the first blank. Undefined for any other line, valid or not: `parseLine` and `metricLine` read those,
 * with the same results for lines of this form. Stays because without it a write of such lines takes 1.9 times the
 * CPU time of the process.
 */
export function parseLineFastPath(
  text: string,
  precision: Precision,
): { readonly head: string; readonly value: number; readonly ms: number; readonly timestamp: string } | undefined {
  const blank = text.indexOf(" ");
  const second = text.indexOf(" ", blank + 1);
  if (blank <= 0 || second < 0 || !text.startsWith(VALUE, blank + 1)) return undefined;
  const written = text.slice(blank + 1 + VALUE.length, second);
  const value = SHORT_INTEGER.test(written) ? Number.parseInt(written, 10) : decimal(written);
  const timestamp = text.slice(second + 1);
  if (value === undefined || !Number.isFinite(value) || !TIMESTAMP.test(timestamp)) return undefined;
  return { head: text.slice(0, blank), value, ms: toMs(timestamp, DIGITS_BELOW_MS[precision]), timestamp };
}

const VALUE = "value=";
/** Exact in a double and in a 64-bit integer. `-0` is left to `decimal`. */
const SHORT_INTEGER = /^(?:\d{1,15}|-[1-9]\d{0,14})i?$/;
/** Certainly of 64 bits. */
const TIMESTAMP = /^(?:\d{1,18}|[1-8]\d{18})$/;

/**
 * Uses the digits, as a double cannot represent nanoseconds: a point just before the end of a slot must not move into
 * the next.
 */
function toMs(timestamp: string, digits: number): number {
  if (digits <= 0) return Number(timestamp) * 10 ** -digits;
  const ms = timestamp.slice(0, -digits);
  return timestamp.startsWith("-") ? -1 : Number(ms);
}

/** Returns the nanoseconds of a timestamp after its millisecond; 0 before 1970. */
export function nsOf(timestamp: string, precision: Precision): number {
  const digits = DIGITS_BELOW_MS[precision];
  return digits <= 0 || timestamp.startsWith("-") ? 0 : Number(timestamp.slice(-digits)) * 10 ** (6 - digits);
}

/**
 * Returns the start of a line, up to its fields. Names need no escaping. A value is not empty and does not end in a
 * backslash, which is literal unless a comma, a blank or an equals sign follows.
 */
export function writeTags(measurement: string, tags: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(tags).map(([name, value]) => `,${name}=${value.replace(/[, =]/g, "\\$&")}`);
  return `${measurement}${pairs.join("")} `;
}

/** Returns a finite number as the value of a field; keeps the sign of -0. */
export function writeNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const EQUALS = 61;
const BACKSLASH = 92;

/**
 * A character that ends a part, unless it is escaped by a backslash; before any other character a backslash is literal.
 */
const ESCAPABLE = 1;
/** A character that always ends a part. */
const FINAL = 2;
const CONTROLS = String.fromCharCode(...Array(SPACE).keys(), 127);

const MEASUREMENT_ENDS = endings(", ", CONTROLS);
const KEY_ENDS = endings(",= ", CONTROLS);
const TAG_VALUE_ENDS = endings(",= ", "\r\n");

/** Terminators of a part of a line, by character code. */
function endings(escapable: string, final: string): Uint8Array {
  const ends = new Uint8Array(128);
  for (const character of escapable) ends[character.charCodeAt(0)] = ESCAPABLE;
  for (const character of final) ends[character.charCodeAt(0)] = FINAL;
  return ends;
}

/** A position in a line that advances as parts are taken. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.skipSpaces();
  }

  /** Returns the text before its terminator, with escapes resolved. */
  word(ends: Uint8Array): string {
    let word = "";
    let start = this.#at;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (ends[code]) break;
      if (code !== BACKSLASH || ends[this.#text.charCodeAt(this.#at + 1)] !== ESCAPABLE) continue;
      word += this.#text.slice(start, this.#at);
      this.#at += 1;
      start = this.#at;
    }
    return word + this.#text.slice(start, this.#at);
  }

  /** Returns the text before the next blank or comma. */
  raw(): string {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === SPACE || code === COMMA) break;
    }
    return this.#text.slice(start, this.#at);
  }

  /** Returns a text in double quotes; undefined if it is not closed. */
  quoted(): string | undefined {
    const start = this.#at + 1;
    for (let i = start; i < this.#text.length; i += 1) {
      const code = this.#text.charCodeAt(i);
      if (code === BACKSLASH) i += 1;
      if (code !== QUOTE) continue;
      this.#at = i + 1;
      return this.#text.slice(start, i).replace(/\\(["\\])/g, "$1");
    }
    return undefined;
  }

  skip(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  skipSpaces(): boolean {
    const start = this.#at;
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at += 1;
    return this.#at > start;
  }

  atQuote(): boolean {
    return this.#text.charCodeAt(this.#at) === QUOTE;
  }

  atEnd(): boolean {
    return this.#at >= this.#text.length;
  }
}

interface Range {
  readonly least: bigint;
  readonly most: bigint;
}

const INT64: Range = { least: -(2n ** 63n), most: 2n ** 63n - 1n };
const UINT64: Range = { least: 0n, most: 2n ** 64n - 1n };

function fieldValue(raw: string): number | boolean | undefined {
  if (/^(?:t|T|true|True|TRUE)$/.test(raw)) return true;
  if (/^(?:f|F|false|False|FALSE)$/.test(raw)) return false;
  const value = decimal(raw);
  if (value !== undefined) return Number.isFinite(value) ? value : Number.NaN;
  if (/^-?\d+i$/.test(raw)) return integer(raw.slice(0, -1), INT64);
  if (/^\d+u$/.test(raw)) return integer(raw.slice(0, -1), UINT64);
  return /^[+-]?(?:nan|inf|infinity)$/i.test(raw) ? Number.NaN : undefined;
}

/** Each character matches only one part, so that a long text takes linear time. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Parses a decimal number, ±Infinity beyond all doubles; undefined for any other text. */
export function decimal(text: string): number | undefined {
  return DECIMAL.test(text) ? Number(text) : undefined;
}

/** Returns an integer as the nearest double; NaN if out of range. */
function integer(written: string, range: Range): number {
  const digits = withoutZeros(written);
  return isWithin(digits, range) ? Number(digits) : Number.NaN;
}

function withoutZeros(integer: string): string {
  return integer.replace(/^(-?)0+(?=\d)/, "$1");
}

/** Returns whether an integer without leading zeros is in a 64-bit range. */
function isWithin(digits: string, { least, most }: Range): boolean {
  if (digits.length > 20) return false;
  const value = BigInt(digits);
  return value >= least && value <= most;
}
