import { type Condition, compileRule, Evaluation } from "./compile-rule.js";
import { chainLengths, type DecidedSegment } from "./decided-segment.js";
import { newestTimes } from "./newest-times.js";
import type { All, AnyOf, Leaf, Not, Rule } from "./rule.js";
import type { RuleProfile } from "./rule-profile.js";

/** A rule with the result of each node. */
export type ExplainedRule = (All<ExplainedRule> | AnyOf<ExplainedRule> | Not<ExplainedRule> | Leaf) & {
  readonly holds: boolean;
};

export interface Explanation {
  readonly rule: ExplainedRule;
  /** Earliest instant at which the decision can change by time alone, Unix ms; Infinity if it cannot. */
  readonly until: number;
}

/** All rules of a table, compiled. */
export class RuleSet {
  /** Segments by rule, each one after the segments that its rule names. */
  readonly segments: readonly string[];
  /**
   * Number of newest event times that a profile keeps of each stream that a rule names. Other streams need one.
   */
  readonly newestTimes: ReadonlyMap<string, number>;
  readonly #rules: readonly Rule[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #conditions: readonly Condition[];

  /** The rules passed `checkRules`. */
  constructor(rules: readonly DecidedSegment[]) {
    const lengths = chainLengths(rules);
    const ordered = rules.toSorted((a, b) => (lengths.get(a.id) as number) - (lengths.get(b.id) as number));
    this.segments = ordered.map(({ id }) => id);
    this.newestTimes = newestTimes(rules.map(({ rule }) => rule));
    this.#rules = ordered.map(({ rule }) => rule);
    this.#places = new Map(this.segments.map((id, place) => [id, place]));
    this.#conditions = this.#rules.map((rule) => compileRule(rule, this.#places));
  }

  /**
   * Decides all segments in their order, and calls `take` with each decision. Returns the earliest instant at which one
   * can change by time alone, Unix ms; Infinity if none can. It is never late.
   */
  decide(profile: RuleProfile, now: number, take: (segment: string, isMember: boolean) => void): number {
    const { decisions, changes } = this.#evaluate(profile, now);
    this.segments.forEach((segment, place) => {
      take(segment, decisions[place] as boolean);
    });
    return changes.reduce((first, next) => Math.min(first, next), Number.POSITIVE_INFINITY);
  }

  /** Evaluates every node of a segment's rule. Undefined for a segment without a rule. */
  explain(segment: string, profile: RuleProfile, now: number): Explanation | undefined {
    const place = this.#places.get(segment);
    if (place === undefined) return undefined;
    const at = this.#evaluate(profile, now);
    const explained = (node: Rule): ExplainedRule => {
      const holds = compileRule(node, this.#places)(at);
      if ("all" in node) return { all: node.all.map(explained), holds };
      if ("any" in node) return { any: node.any.map(explained), holds };
      return "not" in node ? { not: explained(node.not), holds } : { ...node, holds };
    };
    return { rule: explained(this.#rules[place] as Rule), until: at.changes[place] as number };
  }

  #evaluate(profile: RuleProfile, now: number): Evaluation {
    const at = new Evaluation(profile, now);
    for (const condition of this.#conditions) {
      at.decisions.push(condition(at));
      at.changes.push(at.changesAt);
    }
    return at;
  }
}
