const ZERO = 48;
const MINUS = 45;
const POINT = 46;
const ZULU = 90;

/** Digits of which a double keeps each, whatever they are. */
const SAFE_DIGITS = 15;

const powers = Array.from({ length: SAFE_DIGITS + 1 }, (_, i) => 10 ** i);

/** The number that bytes spell; NaN when they spell none. */
export function parseNumber(bytes: Buffer, start: number, end: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  let digits = 0;
  let value = 0;
  let point = -1;
  for (let at = first; at < end; at += 1) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit >= 0 && digit <= 9) {
      value = 10 * value + digit;
      digits += 1;
    } else if (bytes[at] === POINT && point < 0) point = at;
    else return slowNumber(bytes, start, end);
  }
  if (digits === 0 || digits > SAFE_DIGITS) return slowNumber(bytes, start, end);
  // A quotient of two whole numbers that are exact is the double next to the decimal number.
  if (point >= 0) value /= powers[end - point - 1] as number;
  return first > start ? -value : value;
}

function slowNumber(bytes: Buffer, start: number, end: number): number {
  const value = start === end ? Number.NaN : Number(bytes.toString("latin1", start, end));
  return Number.isFinite(value) ? value : Number.NaN;
}

let lastDay = 0;
let lastDayMs = 0;

/** The moment that `2024-02-29T13:00:00Z`, with or without a fraction, names, Unix ms without the fraction of a ms; NaN for anything else. */
export function parseTime(bytes: Buffer, start: number, end: number): number {
  if (end - start < 20 || bytes[end - 1] !== ZULU) return Number.NaN;
  const two = (at: number) => 10 * (bytes[start + at] as number) + (bytes[start + at + 1] as number) - 11 * ZERO;
  const year = 100 * two(0) + two(2);
  const month = two(5);
  const dayOfMonth = two(8);
  const day = (100 * year + month) * 100 + dayOfMonth;
  if (day !== lastDay) {
    lastDay = day;
    lastDayMs = Date.UTC(year, month - 1, dayOfMonth);
  }
  const ms = lastDayMs + ((two(11) * 60 + two(14)) * 60 + two(17)) * 1_000;
  if (end - start === 20) return ms;
  return ms + Math.floor(1_000 * Number(bytes.toString("latin1", start + 19, end - 1)));
}
