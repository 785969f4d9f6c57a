import { jsonIssue } from "../../entities/collect/parse-message.js";

/** Reports that a part of a call is left out, with the code of the reason. */
export type LeaveOut = (code: string) => void;

/** Name of a member that is left out at every level: the key is a secret of its sender. */
const SECRET = "writeKey";

/**
 * Removes write keys, and members that cannot be stored exactly, from a parsed JSON value. Returns whether the value
 * itself can be stored; a list with an element that cannot be is none. `maxDepth` is the maximum of nested levels.
 */
export function makeStorable(value: unknown, maxDepth: number, leaveOut: LeaveOut): boolean {
  if (typeof value !== "object" || value === null || maxDepth === 0) {
    const issue = jsonIssue(value, maxDepth);
    if (issue !== undefined) leaveOut(issue.code);
    return issue === undefined;
  }
  if (Array.isArray(value)) return value.every((element) => makeStorable(element, maxDepth - 1, leaveOut));
  const object = value as Record<string, unknown>;
  for (const name of Object.keys(object)) {
    const isUnsafe = name === "__proto__";
    if (isUnsafe) leaveOut("invalid_name");
    const isKept = !isUnsafe && name !== SECRET && makeStorable(object[name], maxDepth - 1, leaveOut);
    if (!isKept) Reflect.deleteProperty(object, name);
  }
  return true;
}
