/** One point of InfluxDB line protocol: `measurement,tag=value field=value timestamp`. */
export interface LinePoint {
  readonly measurement: string;
  readonly tags: ReadonlyMap<string, string>;
  /** Numbers whatever their suffix; NaN for a number that is none (`nan`, `1.2.3`, out of range). */
  readonly fields: ReadonlyMap<string, number | string | boolean>;
  /** Decimal digits with an optional sign, in the unit of the request; absent when the line names none. */
  readonly timestamp: string | undefined;
}

/** Why a line is not line protocol. */
export interface LineFault {
  readonly fault: string;
}

/**
 * Reads one line that is neither blank nor a comment.
 * https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
 */
export function parseLine(text: string): LinePoint | LineFault {
  const reader = new Reader(text);
  const measurement = reader.word(COMMA, SPACE, SPACE);
  if (measurement === "") return { fault: "A measurement is expected" };
  const tags = new Map<string, string>();
  while (reader.take(COMMA)) {
    const name = reader.word(EQUALS, COMMA, SPACE);
    if (name === "" || !reader.take(EQUALS)) return { fault: "A tag is name=value" };
    const value = reader.word(COMMA, SPACE, EQUALS);
    if (value === "" || tags.has(name)) return { fault: "A tag has one value that is not empty" };
    tags.set(name, value);
  }
  if (!reader.takeSpaces()) return { fault: "A blank and the fields are expected after the tags" };
  const fields = new Map<string, number | string | boolean>();
  do {
    const name = reader.word(EQUALS, COMMA, SPACE);
    if (name === "" || !reader.take(EQUALS)) return { fault: "A field is name=value" };
    const value = reader.atQuote() ? reader.quoted() : fieldValue(reader.raw());
    if (fields.has(name)) return { fault: "A field has one value" };
    if (value === undefined) return { fault: "A field's value is a number, a boolean or a text in double quotes" };
    fields.set(name, value);
  } while (reader.take(COMMA));
  if (!reader.takeSpaces() && !reader.atEnd()) return { fault: "A blank is expected after the fields" };
  const timestamp = reader.raw();
  reader.takeSpaces();
  if (!reader.atEnd() || (timestamp !== "" && !/^-?\d{1,19}$/.test(timestamp)))
    return { fault: "A timestamp is a whole number" };
  return { measurement, tags, fields, timestamp: timestamp === "" ? undefined : timestamp };
}

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const EQUALS = 61;
const BACKSLASH = 92;

/** A place in a line that moves on as parts are taken. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.takeSpaces();
  }

  /** What stands before the first of three characters that has no backslash before it; escapes resolved. */
  word(a: number, b: number, c: number): string {
    const start = this.#at;
    let escaped = false;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === a || code === b || code === c) break;
      if (code !== BACKSLASH) continue;
      escaped = true;
      this.#at += 1;
    }
    this.#at = Math.min(this.#at, this.#text.length);
    const word = this.#text.slice(start, this.#at);
    return escaped ? word.replace(/\\([,= ])/g, "$1") : word;
  }

  /** What stands before the next blank or comma. */
  raw(): string {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === SPACE || code === COMMA) break;
    }
    return this.#text.slice(start, this.#at);
  }

  /** A text in double quotes; undefined when it does not end. */
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

  take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  takeSpaces(): boolean {
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

function fieldValue(raw: string): number | boolean | undefined {
  if (/^(t|true|True|TRUE)$/.test(raw)) return true;
  if (/^(f|false|False|FALSE)$/.test(raw)) return false;
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(raw)) return finite(Number(raw));
  if (/^-?\d{1,20}i$/.test(raw)) return within(raw.slice(0, -1), -(2n ** 63n), 2n ** 63n - 1n);
  if (/^\d{1,20}u$/.test(raw)) return within(raw.slice(0, -1), 0n, 2n ** 64n - 1n);
  return /^[+-]?(nan|inf|infinity)$/i.test(raw) ? Number.NaN : undefined;
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}

/** An integer of 64 bits, as near as a double comes; up to 15 digits are within any bounds. */
function within(digits: string, least: bigint, most: bigint): number {
  if (digits.length <= 15) return Number(digits);
  const value = BigInt(digits);
  return value >= least && value <= most ? Number(value) : Number.NaN;
}
