import type { Series } from "../../metrics/series.js";
import { isSeries, type WritableSeries } from "../../metrics/writable-points.js";

/** A point read from the bytes of its JSON. */
export interface UsualPoint {
  readonly series: Series;
  readonly value: number;
  readonly ts: number;
}

/** Fields that name a series. */
const NAMES = ["dimension", "dimension_id", "dimension_type"];

const TS = Buffer.from('"ts":');
const VALUE = Buffer.from('"value":');

/** A number with more digits may not be an exact double. */
const MOST_DIGITS = 15;

const SPACE = 32;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const CLOSING = 125;

/** Offset of the byte after the last one read. */
let at = 0;

/**
 * Reads a JSON point in the bytes [start, end) whose last two fields are `ts` and `value`, in either order, as numbers
 * of at most 15 digits without an exponent. Returns undefined for any other point, and for an invalid one.
 */
export function readUsualPoint(
  bytes: Buffer,
  start: number,
  end: number,
  known: WritableSeries,
): UsualPoint | undefined {
  const headEnd = bytes.lastIndexOf(COMMA, bytes.lastIndexOf(COMMA, end - 1) - 1);
  if (headEnd <= start) return undefined;
  at = headEnd + 1;
  const isTsFirst = skip(bytes, TS);
  if (!isTsFirst && !skip(bytes, VALUE)) return undefined;
  const first = readNumber(bytes);
  if (bytes[at] !== COMMA) return undefined;
  at += 1;
  if (!skip(bytes, isTsFirst ? VALUE : TS)) return undefined;
  const second = readNumber(bytes);
  skipBlanks(bytes);
  if (bytes[at] !== CLOSING || at + 1 !== end) return undefined;
  const [ts, value] = isTsFirst ? [first, second] : [second, first];
  if (!Number.isInteger(ts) || Number.isNaN(value)) return undefined;
  const head = bytes.toString("latin1", start, headEnd);
  const series = known.named(head) ?? newSeries(bytes.subarray(start, headEnd), head, known);
  return series && { series, value, ts };
}

/** Finds the series of a head by parsing it, and stores it for its text; undefined if it does not name exactly one. */
function newSeries(bytes: Buffer, head: string, known: WritableSeries): Series | undefined {
  let names: Record<string, unknown>;
  try {
    names = JSON.parse(`${bytes}}`);
  } catch {
    return undefined;
  }
  const [dimension, id, type] = NAMES.map((name) => names[name]);
  if (Object.keys(names).length !== NAMES.length) return undefined;
  const series = known.find(dimension, id, type);
  if (!isSeries(series)) return undefined;
  known.name(head, series);
  return series;
}

/** Passes blanks and then `text`, if it comes next. */
function skip(bytes: Buffer, text: Buffer): boolean {
  skipBlanks(bytes);
  for (let i = 0; i < text.length; i += 1) if (bytes[at + i] !== text[i]) return false;
  at += text.length;
  return true;
}

function skipBlanks(bytes: Buffer): void {
  while (bytes[at] === SPACE) at += 1;
}

/** Passes a number and returns it; NaN if it is not of the usual form. */
function readNumber(bytes: Buffer): number {
  skipBlanks(bytes);
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at += 1;
  const start = at;
  let number = readDigits(bytes, 0);
  const whole = at - start;
  if (whole === 0 || whole > MOST_DIGITS || (whole > 1 && bytes[start] === ZERO)) return Number.NaN;
  if (bytes[at] === POINT) {
    at += 1;
    const from = at;
    number = readDigits(bytes, number);
    const decimals = at - from;
    if (decimals === 0 || whole + decimals > MOST_DIGITS) return Number.NaN;
    // Both are exact, so the quotient is the double nearest to the decimal (Clinger, PLDI 1990).
    number /= 10 ** decimals;
  }
  return isNegative ? -number : number;
}

/** Passes digits, which continue a number. */
function readDigits(bytes: Buffer, before: number): number {
  let number = before;
  for (; ; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (!(digit >= 0 && digit <= NINE - ZERO)) return number;
    number = number * 10 + digit;
  }
}
