import type { Series } from "../../metrics/series.js";
import { PointFold } from "../../metrics/slot-columns.js";
import { isInWindow, isSeries } from "../../metrics/writable-points.js";
import type { KnownSeries, PointReader, PointsRead } from "./point-reader.js";

/** Fields that name a series. */
const NAMES = ["dimension", "dimension_id", "dimension_type"];

const TS = Buffer.from('"ts":');
const VALUE = Buffer.from('"value":');

/** A number with more digits may not be an exact double. */
const MOST_DIGITS = 15;

/** Points read before other requests may run. */
const POINTS_AT_ONCE = 500;

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const OPENING = 91;
const CLOSING = 93;
const BRACE = 125;

/** Offset of the next byte to read. No two bodies are read at once: nothing here waits in the middle of a point. */
let at = 0;

/**
 * Reads an array of JSON points straight from its bytes. Returns undefined unless every point is valid and of the usual
 * form: its last two fields are `ts` and `value`, in either order, as numbers of at most 15 digits without an exponent,
 * and no name contains `}`.
 */
export async function readUsualPoints(
  bytes: Buffer,
  reader: PointReader,
  most: number,
  pause: () => Promise<void> | undefined,
): Promise<PointsRead | undefined> {
  const fold = new PointFold();
  let start = afterBlanks(bytes, 0);
  if (bytes[start] !== OPENING) return undefined;
  for (let count = 1; count <= most; count += 1) {
    const end = bytes.indexOf(BRACE, start + 1);
    if (end < 0 || !addPoint(bytes, start + 1, end, reader, fold)) return undefined;
    start = afterBlanks(bytes, end + 1);
    if (bytes[start] === CLOSING)
      return afterBlanks(bytes, start + 1) === bytes.length ? { count, columns: fold.columns() } : undefined;
    if (bytes[start] !== COMMA) return undefined;
    if (count % POINTS_AT_ONCE === 0) await pause();
  }
  return undefined;
}

/** Adds the point in the bytes [start, end), which a brace follows; false if it is invalid or not of the usual form. */
function addPoint(bytes: Buffer, start: number, end: number, reader: PointReader, fold: PointFold): boolean {
  const headEnd = bytes.lastIndexOf(COMMA, bytes.lastIndexOf(COMMA, end) - 1);
  const headStart = afterBlanks(bytes, start);
  if (headEnd <= headStart) return false;
  at = headEnd + 1;
  const isTsFirst = skip(bytes, TS);
  if (!isTsFirst && !skip(bytes, VALUE)) return false;
  const first = readNumber(bytes);
  if (!skipByte(bytes, COMMA) || !skip(bytes, isTsFirst ? VALUE : TS)) return false;
  const second = readNumber(bytes);
  if (afterBlanks(bytes, at) !== end) return false;
  const [ts, value] = isTsFirst ? [first, second] : [second, first];
  if (!Number.isInteger(ts) || Number.isNaN(value)) return false;
  const series = reader.heads.find(bytes, headStart, headEnd) ?? newSeries(bytes, headStart, headEnd, reader);
  if (series === undefined || !isInWindow(ts, series.dimension.slotMs, reader.window)) return false;
  fold.add(series, ts, value);
  return true;
}

/** Finds the series of a head by parsing it, and stores it; undefined if the head does not name exactly one. */
function newSeries(bytes: Buffer, start: number, end: number, known: KnownSeries): Series | undefined {
  let names: Record<string, unknown>;
  try {
    names = JSON.parse(`${bytes.toString("utf8", start, end)}}`);
  } catch {
    return undefined;
  }
  const [dimension, id, type] = NAMES.map((name) => names[name]);
  if (Object.keys(names).length !== NAMES.length) return undefined;
  const series = known.series.find(dimension, id, type);
  if (!isSeries(series)) return undefined;
  known.heads.add(bytes, start, end, series);
  return series;
}

/** Returns the offset of the first byte from `from` on that is no blank. */
function afterBlanks(bytes: Buffer, from: number): number {
  let next = from;
  for (; ; next += 1) {
    const byte = bytes[next];
    if (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB) return next;
  }
}

/** Passes blanks and this byte, if it comes next. */
function skipByte(bytes: Buffer, byte: number): boolean {
  at = afterBlanks(bytes, at);
  if (bytes[at] !== byte) return false;
  at += 1;
  return true;
}

/** Passes blanks and this text, if it comes next. */
function skip(bytes: Buffer, text: Buffer): boolean {
  at = afterBlanks(bytes, at);
  for (let i = 0; i < text.length; i += 1) if (bytes[at + i] !== text[i]) return false;
  at += text.length;
  return true;
}

/** Passes a number and returns it; NaN if it is not of the usual form. */
function readNumber(bytes: Buffer): number {
  at = afterBlanks(bytes, at);
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
