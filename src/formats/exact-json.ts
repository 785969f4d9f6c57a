/**
 * Parses JSON text. An integer that a double would round, such as 9007199254740993, becomes `Infinity`, so that it is
 * refused instead of changed. Numbers with a fraction or an exponent are doubles. Throws when the text is not JSON.
 */
export function parseExactly(json: string): unknown {
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
const MAX_DIGITS = 309;

/** Returns whether the number is an integer that no double equals. */
function isRounded(number: string): boolean {
  if (!/^-?\d+$/.test(number)) return false;
  const value = Number(number);
  if (Number.isSafeInteger(value)) return false;
  return number.length > MAX_DIGITS + 1 || BigInt(number) !== BigInt(value);
}
