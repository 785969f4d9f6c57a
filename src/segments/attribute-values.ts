import type { ValueTest } from "./value-test.js";

/** Elements of a list that are read. */
const MAX_ELEMENTS = 1_000;

/**
 * Returns whether one of the values at the end of a path passes a test: the value itself, or an element of a list. The
 * path names keys of objects, and leads through lists. Without a test, returns whether there is a value.
 */
export function someValue(value: unknown, path: readonly string[], test: ValueTest | undefined, at = 0): boolean {
  if (value === undefined || value === null) return false;
  if (at === path.length && test === undefined) return true;
  if (!Array.isArray(value)) return isMatch(value, path, test, at);
  const length = Math.min(value.length, MAX_ELEMENTS);
  for (let i = 0; i < length; i += 1) {
    if (!Array.isArray(value[i]) && isMatch(value[i], path, test, at)) return true;
  }
  return false;
}

/** The same for a value that is no list. */
function isMatch(value: unknown, path: readonly string[], test: ValueTest | undefined, at: number): boolean {
  const key = path[at];
  if (key === undefined) return test?.(value) === true;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
  return someValue((value as Readonly<Record<string, unknown>>)[key], path, test, at + 1);
}
