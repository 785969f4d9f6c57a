import type { InstantTests } from "./rule.js";
import { parseRuleInstant, type RuleInstant } from "./rule-instant.js";

/**
 * Values of now for which something holds, Unix ms: from <= now <= until. None if `from` is after `until`.
 */
export interface TimeSpan {
  readonly from: number;
  readonly until: number;
}

export const always: TimeSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
export const never: TimeSpan = { from: Number.POSITIVE_INFINITY, until: Number.NEGATIVE_INFINITY };

export function intersection(a: TimeSpan, b: TimeSpan): TimeSpan {
  return { from: Math.max(a.from, b.from), until: Math.min(a.until, b.until) };
}

/** Returns the span during which an instant passes the tests. */
export function instantSpan({ after, before }: InstantTests): (instant: number) => TimeSpan {
  const start = after === undefined ? undefined : (parseRuleInstant(after) as RuleInstant);
  const end = before === undefined ? undefined : (parseRuleInstant(before) as RuleInstant);
  return (instant) => ({ from: beginOf(end, instant), until: endOf(start, instant) });
}

/** An instant becomes earlier than a relative one, and never ceases to be. */
function beginOf(before: RuleInstant | undefined, instant: number): number {
  if (before?.isRelative) return instant - before.ms + 1;
  return before === undefined || instant < before.ms ? always.from : never.from;
}

function endOf(after: RuleInstant | undefined, instant: number): number {
  if (after?.isRelative) return instant - after.ms;
  return after === undefined || instant >= after.ms ? always.until : never.until;
}
