import { durationMs } from "../formats/duration.js";
import { parseAbsoluteInstant } from "../formats/instant.js";
import { someValue } from "./attribute-values.js";
import type { AttributeLeaf, CountTests, Leaf, ProfileLeaf, Rule, SegmentLeaf, StreamLeaf } from "./rule.js";
import type { RuleProfile } from "./rule-profile.js";
import { type StreamFacts, unitedFacts } from "./stream-facts.js";
import { always, instantSpan, intersection, never, type TimeSpan } from "./time-span.js";
import { boundsTest, valueTest } from "./value-test.js";

/** Evaluation of rules for one profile at one instant. */
export class Evaluation {
  readonly profile: RuleProfile;
  /** Unix ms. */
  readonly now: number;
  /**
   * Earliest instant after `now` at which the last evaluated condition can change by time alone, Infinity if it cannot.
   * Exact for a leaf, never late for a group. Each condition sets it.
   */
  changesAt = Number.POSITIVE_INFINITY;
  /** Results of the segments by rule that are decided already, in the order of `places`, and their `changesAt`. */
  readonly decisions: boolean[] = [];
  readonly changes: number[] = [];

  readonly #instants = new Map<string | number, number | undefined>();

  constructor(profile: RuleProfile, now: number) {
    this.profile = profile;
    this.now = now;
  }

  /** Returns the instant of a value, which is parsed once for all conditions; undefined if it is none. */
  instantOf(value: string | number): number | undefined {
    const known = this.#instants.get(value);
    if (known !== undefined || this.#instants.has(value)) return known;
    const instant = parseAbsoluteInstant(value);
    this.#instants.set(value, instant);
    return instant;
  }
}

/** Returns whether the condition holds, and sets `changesAt` of the evaluation. */
export type Condition = (at: Evaluation) => boolean;

/**
 * Compiles a rule. `places` has the position of each segment by rule in the decisions of an evaluation; other segments
 * count as they are stored.
 */
export function compileRule(rule: Rule, places: ReadonlyMap<string, number>): Condition {
  if ("all" in rule) return group(rule.all, false, places);
  if ("any" in rule) return group(rule.any, true, places);
  if (!("not" in rule)) return leafCondition(rule, places);
  const part = compileRule(rule.not, places);
  return (at) => !part(at);
}

/**
 * `all` is decided by a part that does not hold, `any` by one that holds. A decided group does not change before the
 * last of the deciding parts changes, so it ends at a part that never does. The order of the parts has no effect;
 * attributes are first, as most of them never change and are evaluated fastest.
 */
function group(rules: readonly Rule[], deciding: boolean, places: ReadonlyMap<string, number>): Condition {
  const ordered = rules.toSorted((a, b) => Number("attribute" in b) - Number("attribute" in a));
  const parts = ordered.map((rule) => compileRule(rule, places));
  return (at) => {
    let firstChange = Number.POSITIVE_INFINITY;
    let lastDeciding = Number.NEGATIVE_INFINITY;
    for (const part of parts) {
      if (part(at) !== deciding) firstChange = Math.min(firstChange, at.changesAt);
      else if (at.changesAt === Number.POSITIVE_INFINITY) return deciding;
      else lastDeciding = Math.max(lastDeciding, at.changesAt);
    }
    const isDecided = lastDeciding !== Number.NEGATIVE_INFINITY;
    at.changesAt = isDecided ? lastDeciding : firstChange;
    return isDecided === deciding;
  };
}

function leafCondition(leaf: Leaf, places: ReadonlyMap<string, number>): Condition {
  if ("attribute" in leaf) return attributeCondition(leaf);
  if ("stream" in leaf) return streamCondition(leaf);
  return "profile" in leaf ? profileCondition(leaf) : segmentCondition(leaf, places);
}

function attributeCondition(leaf: AttributeLeaf): Condition {
  const [name, ...path] = [leaf.attribute].flat() as [string, ...string[]];
  const test = valueTest(leaf);
  if ((leaf.after ?? leaf.before) === undefined) {
    return (at) => {
      at.changesAt = Number.POSITIVE_INFINITY;
      return someValue(at.profile.attribute(name), path, test);
    };
  }
  const spanOf = instantSpan(leaf);
  return (at) => {
    const spans: TimeSpan[] = [];
    someValue(at.profile.attribute(name), path, (value) => {
      if (typeof value !== "string" && typeof value !== "number") return false;
      const instant = at.instantOf(value);
      if (instant !== undefined && test?.(value) !== false) spans.push(spanOf(instant));
      return false;
    });
    return isIn(spans, at);
  };
}

function streamCondition({ stream, count, first, last }: StreamLeaf): Condition {
  const names = [stream].flat();
  const times = neededTimes(count);
  const needsMessage = count === undefined || (first ?? last) !== undefined;
  const [countSpan, firstSpan, lastSpan] = [spanOfCount(count), instantSpan(first ?? {}), instantSpan(last ?? {})];
  return (at) => {
    let facts: StreamFacts | undefined;
    for (const name of names) {
      const own = at.profile.stream(name);
      if (own !== undefined) facts = facts === undefined ? own : unitedFacts(facts, own, times);
    }
    if (facts === undefined) return isIn(needsMessage ? [] : [countSpan(0, [])], at);
    const ofEnds = intersection(firstSpan(facts.first), lastSpan(facts.newest[0] as number));
    return isIn([intersection(countSpan(facts.count, facts.newest), ofEnds)], at);
  };
}

/** Returns the number of newest event times of each stream that decide a count. */
export function neededTimes({ within, at_least = 0, above = 0, at_most = 0, below = 0 }: CountTests = {}): number {
  return within === undefined ? 1 : Math.max(1, at_least, above + 1, at_most + 1, below);
}

/** The number of events within a time falls as now advances: by one after each of their times + `within`. */
function spanOfCount({ within, ...bounds }: CountTests = {}): (all: number, newest: readonly number[]) => TimeSpan {
  if (within === undefined) {
    const isAllowed = boundsTest(bounds);
    return (all) => (isAllowed === undefined || isAllowed(all) ? always : never);
  }
  const { at_least = 0, above = -1, at_most = Number.POSITIVE_INFINITY, below = Number.POSITIVE_INFINITY } = bounds;
  const least = Math.max(at_least, above + 1);
  const most = Math.min(at_most, below - 1);
  const duration = durationMs(within);
  const lastNowWith = (events: number, newest: readonly number[]) =>
    events === 0 ? always.until : (newest[events - 1] ?? never.until) + duration;
  return (_, newest) => ({ from: lastNowWith(most + 1, newest) + 1, until: lastNowWith(least, newest) });
}

function profileCondition({ profile, ...instants }: ProfileLeaf): Condition {
  const spanOf = instantSpan(instants);
  return (at) => {
    const instant = profile === "created_at" ? at.profile.createdAt : at.profile.seenAt;
    return isIn(instant === undefined ? [] : [spanOf(instant)], at);
  };
}

function segmentCondition({ segment }: SegmentLeaf, places: ReadonlyMap<string, number>): Condition {
  const place = places.get(segment);
  if (place === undefined) {
    return (at) => {
      at.changesAt = Number.POSITIVE_INFINITY;
      return at.profile.isMember(segment);
    };
  }
  return (at) => {
    at.changesAt = at.changes[place] ?? Number.POSITIVE_INFINITY;
    return at.decisions[place] === true;
  };
}

/** Returns whether now is in one of the spans. */
function isIn(spans: TimeSpan[], at: Evaluation): boolean {
  let last = at.now - 1;
  at.changesAt = Number.POSITIVE_INFINITY;
  for (const { from, until } of spans.sort((a, b) => a.from - b.from)) {
    if (from > until) continue;
    if (from > last + 1) {
      if (last < at.now) at.changesAt = from;
      break;
    }
    last = Math.max(last, until);
  }
  if (last < at.now) return false;
  at.changesAt = last + 1;
  return true;
}
