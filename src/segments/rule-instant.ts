import { durationRule, parseDuration } from "../formats/duration.js";
import { instantForms, parseAbsoluteInstant } from "../formats/instant.js";

/** Instant in a rule: `ms` is a Unix time, or the distance from now if it is relative. */
export interface RuleInstant {
  readonly ms: number;
  readonly isRelative: boolean;
}

/** Format of such an instant, for error messages. */
export const ruleInstantRule = `an ${instantForms}, now, now-<n><unit> or now+<n><unit>, with ${durationRule}`;

/** Parses an absolute instant, `now`, `now-<n><unit>` or `now+<n><unit>`. Undefined for anything else. */
export function parseRuleInstant(written: string | number): RuleInstant | undefined {
  if (typeof written === "number" || !written.startsWith("now")) {
    const ms = parseAbsoluteInstant(written);
    return ms === undefined ? undefined : { ms, isRelative: false };
  }
  if (written === "now") return { ms: 0, isRelative: true };
  const sign = { "+": 1, "-": -1 }[written.charAt(3)];
  const distance = parseDuration(written.slice(4));
  return sign === undefined || distance === undefined ? undefined : { ms: sign * distance.ms, isRelative: true };
}
