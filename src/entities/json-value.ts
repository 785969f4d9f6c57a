import type { ValidationIssue } from "../errors.js";

/** What keeps a JSON value from being kept: nested more than `maxDepth` levels, a number that is none, a hazardous name. */
export function jsonIssue(value: unknown, maxDepth: number): Omit<ValidationIssue, "path"> | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : NOT_A_NUMBER;
  if (typeof value !== "object" || value === null) return undefined;
  if (maxDepth === 0) return { code: "too_deep", message: "The value is nested too deep" };
  if (!Array.isArray(value) && Object.hasOwn(value, "__proto__")) return HAZARDOUS_NAME;
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    const issue = jsonIssue(child, maxDepth - 1);
    if (issue !== undefined) return issue;
  }
  return undefined;
}

const NOT_A_NUMBER = {
  code: "invalid_number",
  message: "An integer beyond 2^53 that a double cannot hold, or a number too large: send it as a string",
};
const HAZARDOUS_NAME = { code: "invalid_name", message: "A name must not be __proto__" };
