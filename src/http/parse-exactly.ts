/** A number that JSON allows and no double holds: what reads it as a value refuses it. */
const NO_NUMBER = "1e999";

/** Integers of fewer digits are held exactly by a double. */
const LONG_INTEGER = /\d{16}/;

/** In valid JSON. Strings are matched so that digits in them are left alone. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Digits of the largest integers that a double can hold. */
const MOST_DIGITS = 309;

/**
 * The value of JSON text. An integer that a double would round (9007199254740993, say) comes as `Infinity`, so that it is refused
 * instead of changed. A number with a fraction or an exponent is meant as a double. Throws when the text is not JSON.
 */
export function parseExactly(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (!LONG_INTEGER.test(json)) return value;
  const marked = json.replace(STRING_OR_NUMBER, (token) => (isRounded(token) ? NO_NUMBER : token));
  return marked === json ? value : JSON.parse(marked);
}

function isRounded(token: string): boolean {
  if (token.length < 16 || !/^-?\d+$/.test(token)) return false;
  const value = Number(token);
  if (Number.isSafeInteger(value)) return false;
  return token.length > MOST_DIGITS + 1 || BigInt(token) !== BigInt(value);
}
