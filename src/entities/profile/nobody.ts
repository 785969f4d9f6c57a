/**
 * Values that identify no one in any table. They are what programs write when they have no value; people who share one
 * would become one person. Compared without regard to case, white space and one pair of quotes.
 */
const COMMON = [
  ...["anonymous", "null", "(null)", "nil", "<nil>", "undefined", "none", "unknown", "n/a", "#n/a", "na", "nan"],
  ...["\\N", "true", "false", "[object Object]"],
];

/** Zeros, dashes, dots and question marks alone, such as `0`, `-` and the all-zero UUID. */
const BLANK = /^[0.?\p{Dash}]*$/u;

/**
 * Returns a function that returns whether a value identifies no one: one of `nobody`, or, if `includesCommon`, a common
 * one.
 */
export function nobodyCheck(nobody: readonly string[], includesCommon: boolean): (value: string) => boolean {
  const values = new Set([...nobody, ...(includesCommon ? COMMON : [])].map(comparable));
  return (value) => {
    const compared = comparable(value);
    return values.has(compared) || (includesCommon && BLANK.test(compared));
  };
}

/** Returns whether a value identifies no one in any table. The value has a checked length. */
export const isCommonNobody = nobodyCheck([], true);

function comparable(value: string): string {
  const compact = value.replace(/\s/g, "").toLowerCase();
  const unquoted = /^(["'])(.*)\1$/s.exec(compact);
  return unquoted?.[2] ?? compact;
}
