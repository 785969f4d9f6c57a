import { expect } from "chai";
import fc from "fast-check";
import { parseRule } from "../../src/segments/parse-rule.js";
import { leavesOf, type Rule } from "../../src/segments/rule.js";
import { RuleSet } from "../../src/segments/rule-set.js";
import { decisionOf, type MadeUpProfile, profileOf } from "./made-up-profile.js";
import { oracle } from "./rule-oracle.js";

/** Another one tries other cases, a larger number more of them. */
const SEED = Number(process.env.ORACLE_SEED ?? 41);
const RUNS = Number(process.env.ORACLE_RUNS ?? 1_000);

const NOW = Date.parse("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FAR = NOW + 365 * DAY;

const durations = ["1m", "1d", "1w"];
const moves = [60_000, DAY, 7 * DAY].flatMap((ms) => [ms, -ms]).concat(0);
const shifts = [-HOUR, -1, 0, 1, 5 * 60_000];

/** Instants at and next to the limits of the durations. */
const nearNow = fc
  .tuple(fc.constantFrom(...moves), fc.constantFrom(...shifts))
  .map(([move, shift]) => NOW + move + shift);
const instantValue = nearNow.chain((ms) =>
  fc.constantFrom<string | number>(new Date(ms).toISOString(), ms, String(ms), Math.floor(ms / 1000), "2026-03-01"),
);
const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    "a",
    "A",
    "ab",
    "",
    "5",
    "-1.5",
    "05",
    "1e3",
    " 5",
    "true",
    "TRUE",
    "now",
    "now-1d",
    "ß",
    "SS",
  ),
  fc.constantFrom<unknown>(5, -1.5, 0, 6, true, false, null),
  instantValue,
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 4 },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("k", "l"), tie("value"), { maxKeys: 2 }),
  ),
}));

const names = ["x", "y", "z"];
const streams = ["web", "app", "shop"];
const times = fc.array(nearNow, { maxLength: 6 });
const profiles: fc.Arbitrary<MadeUpProfile> = fc.record({
  attributes: fc.record({ x: value, y: value, z: value }, { requiredKeys: [] }),
  streams: fc.record({ web: times, app: times, shop: times }, { requiredKeys: [] }),
  createdAt: nearNow,
  segments: fc.subarray(["pushed", "other"]),
});

const rare = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, { arbitrary, weight: 1 });
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const instant = fc.oneof(
  fc.constantFrom<string | number>("now", ...durations.flatMap((one) => [`now-${one}`, `now+${one}`])),
  instantValue,
);
const instants = { after: optional(instant), before: optional(instant) };
const counts = fc.integer({ min: 0, max: 5 });
const bounds = {
  at_least: optional(counts),
  above: rare(counts),
  at_most: optional(counts),
  below: rare(counts),
};
const number = fc.constantFrom(5, 0, -1.5, 6);
const text = fc.constantFrom("a", "A", "b", "", "SS", "true");
const operand = fc.constantFrom<string | number | boolean>("a", "AB", "5", "", 5, -1.5, 0, true, false);
const attributePath = fc
  .constantFrom(...names)
  .chain((name) => fc.constantFrom<string | string[]>(name, name, [name, "k"], [name, "k", "l"]));
const leaf: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({
    attribute: attributePath,
    is: rare(fc.oneof(operand, fc.array(operand, { minLength: 1, maxLength: 3 }))),
    ...{ at_least: rare(number), above: rare(number), at_most: rare(number), below: rare(number) },
    ...{ contains: rare(text), starts_with: rare(text), ends_with: rare(text) },
    ...{ after: rare(instant), before: rare(instant) },
    ignore_case: rare(fc.constant(true)),
  }),
  fc.record({ attribute: attributePath, ...instants }),
  fc.record({
    stream: fc.array(fc.constantFrom(...streams), { minLength: 1, maxLength: 3 }),
    count: optional(fc.record({ ...bounds, within: optional(fc.constantFrom(...durations)) })),
    first: optional(fc.record(instants)),
    last: optional(fc.record(instants)),
  }),
  fc.record({ profile: fc.constantFrom("created_at", "seen_at"), ...instants }),
  fc.record({ segment: fc.constantFrom("pushed", "other", "absent") }),
);
const { rule } = fc.letrec((tie) => ({
  rule: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    leaf,
    fc.record({ all: fc.array(tie("rule"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ any: fc.array(tie("rule"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie("rule") }),
  ),
}));

/** Parses a made-up rule; undefined if a part of it has no meaning. */
function parsed(made: unknown): Rule | undefined {
  try {
    return parseRule(JSON.parse(JSON.stringify(made)), []);
  } catch {
    return undefined;
  }
}
const parsable = (arbitrary: fc.Arbitrary<unknown>) =>
  arbitrary.map(parsed).filter((one): one is Rule => one !== undefined);

/** Instants after now at which a made-up rule can change: all values, in whole seconds too, moved by durations. */
const instantsAfterNow = (() => {
  const near = moves.flatMap((move) => shifts.map((shift) => NOW + move + shift));
  const values = [...near, ...near.map((time) => Math.floor(time / 1000) * 1000), Date.parse("2026-03-01")];
  const moved = values.flatMap((time) => moves.flatMap((move) => [time + move, time + move + 1]));
  return [...new Set(moved)].filter((time) => time > NOW).sort((a, b) => a - b);
})();

describe("a rule and an independent oracle", function () {
  this.timeout(120_000);

  it("agree on whether it holds, and it does not change before changesAt", () => {
    fc.assert(
      fc.property(parsable(rule), profiles, (one, profile) => {
        const { holds, changesAt } = decisionOf(one, profile, NOW);
        expect(holds, "holds").to.equal(oracle(one, profile, NOW));
        const change = [...instantsAfterNow, Math.min(changesAt - 1, FAR)].find(
          (time) => oracle(one, profile, time) !== holds,
        );
        expect(changesAt).to.be.at.most(change ?? Number.POSITIVE_INFINITY);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });

  it("agree on the exact instant at which a single condition changes", () => {
    let changing = 0;
    fc.assert(
      fc.property(parsable(leaf), profiles, (one, profile) => {
        const { holds, changesAt } = decisionOf(one, profile, NOW);
        const change = instantsAfterNow.find((time) => oracle(one, profile, time) !== holds);
        expect(changesAt).to.equal(change ?? Number.POSITIVE_INFINITY);
        expect(decisionOf({ not: one }, profile, NOW)).to.deep.equal({ holds: !holds, changesAt });
        if (change !== undefined) changing += 1;
      }),
      { seed: SEED, numRuns: 2 * RUNS },
    );
    expect(changing).to.be.above(RUNS / 10);
  });

  it("agree on every node of an explained rule, in segments of segments too", () => {
    const both = fc.tuple(parsable(rule), parsable(rule), profiles);
    fc.assert(
      fc.property(both, ([low, high, profile]) => {
        const named: Rule = { any: [high, { segment: "low" }] };
        const set = new RuleSet([
          { id: "high", table: "user", rule: named },
          { id: "low", table: "user", rule: low },
        ]);
        const isLow = oracle(low, profile, NOW);
        const withLow = { ...profile, segments: [...(profile.segments ?? []), ...(isLow ? ["low"] : [])] };
        const explained = set.explain("high", profileOf(profile), NOW);
        const holds = (node: Rule): unknown => {
          const result = { holds: oracle(node, withLow, NOW) };
          if ("all" in node) return { all: node.all.map(holds), ...result };
          if ("any" in node) return { any: node.any.map(holds), ...result };
          return "not" in node ? { not: holds(node.not), ...result } : { ...node, ...result };
        };
        expect(explained?.rule).to.deep.equal(holds(named));
        const decided = new Map<string, boolean>();
        const due = set.decide(profileOf(profile), NOW, (segment, isMember) => decided.set(segment, isMember));
        expect([...decided]).to.deep.equal([
          ["low", isLow],
          ["high", oracle(named, withLow, NOW)],
        ]);
        expect(due).to.be.at.most(explained?.until ?? 0);
        expect([...leavesOf(named)]).to.have.length.above(1);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
