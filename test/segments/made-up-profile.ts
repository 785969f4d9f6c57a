import type { Rule } from "../../src/segments/rule.js";
import type { RuleProfile } from "../../src/segments/rule-profile.js";
import { RuleSet } from "../../src/segments/rule-set.js";

export interface MadeUpProfile {
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** Event times by stream, in any order. */
  readonly streams?: Readonly<Record<string, readonly number[]>>;
  readonly createdAt?: number;
  readonly segments?: readonly string[];
}

/** Returns a profile as rules read it, with the newest 101 event times of each stream. */
export function profileOf({ attributes = {}, streams = {}, createdAt = 0, segments = [] }: MadeUpProfile): RuleProfile {
  const all = Object.values(streams).flat();
  return {
    createdAt,
    seenAt: all.length === 0 ? undefined : Math.max(...all),
    attribute: (name) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined),
    stream(name) {
      const times = streams[name] ?? [];
      if (times.length === 0) return undefined;
      const newest = times.toSorted((a, b) => b - a).slice(0, 101);
      return { count: times.length, first: Math.min(...times), newest };
    },
    isMember: (segment) => segments.includes(segment),
  };
}

/** Returns the decision of a rule alone: whether it holds, and the next instant at which that can change. */
export function decisionOf(rule: Rule, profile: MadeUpProfile, now: number): { holds: boolean; changesAt: number } {
  let holds = false;
  const set = new RuleSet([{ id: "decided", table: "user", rule }]);
  const changesAt = set.decide(profileOf(profile), now, (_, isMember) => {
    holds = isMember;
  });
  return { holds, changesAt };
}
