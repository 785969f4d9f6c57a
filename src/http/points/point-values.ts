import { instantIssue, isInWindow, type WriteWindow } from "../../metrics/writable-points.js";
import type { Issues } from "../validation.js";

const DIGITS = /^\d{1,16}$/;

/** What a moment has to be: in the window, of a series whose slots are `slotMs` long. */
export interface MomentRule {
  readonly window: WriteWindow;
  readonly slotMs: number;
}

/** The Unix ms that `ts` says, as a number or as the string that answers carry; else NaN, and the issue is noted. */
export function readMoment(ts: unknown, { window, slotMs }: MomentRule, path: string, issues: Issues): number {
  const ms = typeof ts === "string" && DIGITS.test(ts) ? Number(ts) : ts;
  if (typeof ms !== "number" || !Number.isSafeInteger(ms)) {
    const code = ts === undefined || ts === null ? "required" : "bad_time";
    issues.add(code, path, "A whole number of Unix milliseconds is expected");
    return Number.NaN;
  }
  if (isInWindow(ms, slotMs, window)) return ms;
  const { code, message } = instantIssue(ms, window);
  issues.add(code, path, message);
  return Number.NaN;
}

/** The finite number that `value` is; else NaN, and the issue is noted. */
export function readValue(value: unknown, path: string, issues: Issues): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  issues.add(value === undefined || value === null ? "required" : "bad_value", path, "A finite number is expected");
  return Number.NaN;
}
