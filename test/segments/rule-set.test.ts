import { expect } from "chai";
import type { ServiceError } from "../../src/errors.js";
import { checkRules } from "../../src/segments/check-rules.js";
import type { DecidedSegment } from "../../src/segments/decided-segment.js";
import { parseRule } from "../../src/segments/parse-rule.js";
import type { Rule } from "../../src/segments/rule.js";
import { RuleSet } from "../../src/segments/rule-set.js";
import { type MadeUpProfile, profileOf } from "./made-up-profile.js";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const DAY = 86_400_000;

const segment = (id: string, rule: unknown, table = "user"): DecidedSegment => ({
  id,
  table,
  rule: parseRule(rule, []),
});
const isPro = { attribute: "plan", is: "pro" };
const leaves = (count: number) => ({ all: Array(count).fill(isPro) });
const many = (count: number, rule: unknown = isPro, table = "user") =>
  Array.from({ length: count }, (_, i) => segment(`s${i}`, rule, table));

/** Segments by rule of which each names the one before it. */
const chain = (length: number) =>
  Array.from({ length }, (_, i) => segment(`c${i + 1}`, i === 0 ? isPro : { segment: `c${i}` }));

/** Returns code and path of the refusal of a rule next to others; undefined if it is accepted. */
function refusal(changed: DecidedSegment, others: readonly DecidedSegment[]): string | undefined {
  try {
    checkRules(changed, others);
    return undefined;
  } catch (error) {
    const [issue] = (error as ServiceError).issues;
    return `${issue?.code} ${issue?.path}`;
  }
}

function decided(rules: readonly DecidedSegment[], profile: MadeUpProfile) {
  const members: Record<string, boolean> = {};
  const due = new RuleSet(rules).decide(profileOf(profile), NOW, (id, isMember) => {
    members[id] = isMember;
  });
  return { members, due };
}

describe("all rules together", () => {
  it("There are at most 200 rules in all tables", () => {
    expect(refusal(segment("x", isPro), many(199, isPro, "account"))).to.equal(undefined);
    expect(refusal(segment("x", isPro), many(200, isPro, "account"))).to.equal("too_many_rules rule");
  });

  it("There are at most 2,000 conditions in all tables", () => {
    const others = many(39, leaves(50), "account");
    expect(refusal(segment("x", leaves(50)), others)).to.equal(undefined);
    expect(refusal(segment("x", leaves(50)), [...others, segment("y", isPro)])).to.equal("rule_too_large rule");
  });

  it("A chain has at most 8 segments by rule, also when a rule low in the chain makes it longer", () => {
    expect(refusal(segment("x", { segment: "c7" }), chain(7))).to.equal(undefined);
    expect(refusal(segment("x", { segment: "c8" }), chain(8))).to.equal("rule_too_large rule");
    const [, ...upper] = chain(8);
    expect(refusal(segment("c1", { segment: "pushed" }), upper)).to.equal(undefined);
    expect(refusal(segment("c1", { segment: "low" }), [...upper, segment("low", isPro)])).to.equal(
      "rule_too_large rule",
    );
  });

  it("A chain of many paths is measured in a time that does not grow with their number", () => {
    const levels = Array.from({ length: 7 }, (_, level) =>
      Array.from({ length: 20 }, (_, i) =>
        segment(
          `l${level} ${i}`,
          level === 0
            ? isPro
            : { any: Array.from({ length: 20 }, (_, below) => ({ segment: `l${level - 1} ${below}` })) },
        ),
      ),
    ).flat();
    expect(refusal(segment("x", isPro), levels)).to.match(/^rule_too_large/);
    expect(refusal(segment("x", { segment: "l3 0" }), levels.slice(0, 80))).to.equal(undefined);
  });

  it("A circle of segments is refused with the position of the segment that closes it", () => {
    expect(refusal(segment("a", { segment: "a" }), [])).to.equal("cyclic_rule rule.segment");
    expect(refusal(segment("c1", { all: [isPro, { not: { segment: "c3" } }] }), chain(3).slice(1))).to.equal(
      "cyclic_rule rule.all[1].not.segment",
    );
    expect(refusal(segment("c1", { any: [{ segment: "pushed" }, { segment: "c9" }] }), chain(3).slice(1))).to.equal(
      undefined,
    );
  });

  it("The event times that the rules of a table need take at most 256 KiB", () => {
    const counting = (names: number, prefix: string) => ({
      stream: Array.from({ length: names }, (_, i) => `${prefix}${i}`),
      count: { above: 100, within: "90d" },
    });
    const others = ["a", "b", "c"].map((prefix) => segment(prefix, counting(50, prefix)));
    expect(refusal(segment("x", counting(35, "x")), others)).to.equal(undefined);
    expect(refusal(segment("x", counting(36, "x")), others)).to.equal("rule_too_large rule");
    expect(refusal(segment("x", counting(36, "x"), "account"), others)).to.equal(undefined);
    expect(refusal(segment("x", counting(50, "a")), others)).to.equal(undefined);
  });
});

describe("a set of rules", () => {
  it("It decides each segment after the segments that its rule names", () => {
    const rules = [
      segment("top", { all: [{ segment: "middle" }, { segment: "pushed" }] }),
      segment("middle", { not: { segment: "low" } }),
      segment("low", isPro),
    ];
    expect(new RuleSet(rules).segments).to.deep.equal(["low", "middle", "top"]);
    expect(decided(rules, { attributes: { plan: "free" }, segments: ["pushed", "low"] }).members).to.deep.equal({
      low: false,
      middle: true,
      top: true,
    });
    expect(decided(rules, { attributes: { plan: "pro" }, segments: ["pushed", "middle"] }).members).to.deep.equal({
      low: true,
      middle: false,
      top: false,
    });
  });

  it("Its next change is the first of all rules", () => {
    const rules = [
      segment("month", { stream: "web", last: { after: "now-30d" } }),
      segment("week", { stream: "web", last: { after: "now-7d" } }),
      segment("pro", isPro),
    ];
    expect(decided(rules, { streams: { web: [NOW] } }).due).to.equal(NOW + 7 * DAY + 1);
    expect(decided(rules, {}).due).to.equal(Number.POSITIVE_INFINITY);
    expect(decided([], {}).due).to.equal(Number.POSITIVE_INFINITY);
  });

  it("It names the number of event times of each stream that a profile keeps", () => {
    const within = (stream: string | string[], count: object) => ({ stream, count: { ...count, within: "1d" } });
    const times = (...rules: unknown[]) =>
      Object.fromEntries(new RuleSet(rules.map((rule, i) => segment(`s${i}`, rule))).newestTimes);
    expect(times({ all: [{ stream: "web" }, { stream: "app", last: { after: "now" } }, isPro] })).to.deep.equal({
      web: 1,
      app: 1,
    });
    expect(times({ stream: "web", count: { at_least: 500 } })).to.deep.equal({ web: 1 });
    expect(times(within("web", { at_least: 5 }))).to.deep.equal({ web: 5 });
    expect(times(within("web", { above: 5 }))).to.deep.equal({ web: 6 });
    expect(times(within("web", { at_most: 100 }))).to.deep.equal({ web: 101 });
    expect(times(within("web", { below: 5 }))).to.deep.equal({ web: 5 });
    expect(times(within("web", { below: 0 }))).to.deep.equal({ web: 1 });
    expect(times(within(["web", "app"], { at_least: 2 }), { not: within("app", { at_most: 3 }) })).to.deep.equal({
      web: 2,
      app: 4,
    });
  });

  it("A decision needs no more event times than it names", () => {
    for (const bound of [{ at_least: 3 }, { above: 3 }, { at_most: 3 }, { below: 3 }]) {
      const rule = segment("s", { stream: ["a", "b"], count: { ...bound, within: "1d" } });
      const set = new RuleSet([rule]);
      const times = set.newestTimes.get("a") as number;
      const all = profileOf({ streams: { a: [5, 4, 3, 2, 1].map((ago) => NOW - ago), b: [NOW - 9, NOW - 8] } });
      const fewer = {
        ...all,
        stream(name: string) {
          const facts = all.stream(name);
          return facts && { ...facts, newest: facts.newest.slice(0, times) };
        },
      };
      expect(set.explain("s", fewer, NOW), JSON.stringify(bound)).to.deep.equal(set.explain("s", all, NOW));
    }
  });

  it("Stored rules that form a circle are still decided", () => {
    const rules: DecidedSegment[] = ["a", "b"].map((id, i, ids) => {
      const rule: Rule = { not: { segment: ids[1 - i] as string } };
      return { id, table: "user", rule };
    });
    expect(Object.keys(decided(rules, {}).members)).to.deep.equal(["a", "b"]);
  });
});
