import { expect } from "chai";
import { ServiceError, type ValidationIssue } from "../../src/errors.js";
import { parseRule } from "../../src/segments/parse-rule.js";

const identities = [
  { name: "user_id", normalForm: "text" },
  { name: "email", normalForm: "email" },
] as const;

const parse = (json: unknown) => parseRule(json, identities);

/** Returns the issue of a rule that is refused; undefined for one that is not. */
function issueOf(json: unknown): ValidationIssue | undefined {
  try {
    parse(json);
    return undefined;
  } catch (error) {
    expect(error).to.be.instanceOf(ServiceError);
    expect((error as ServiceError).kind).to.equal("invalid");
    expect((error as ServiceError).issues).to.have.length(1);
    return (error as ServiceError).issues[0];
  }
}

const leaf = { attribute: "plan", is: "pro" };
const example = {
  all: [
    { attribute: "plan", is: ["pro", "team"] },
    { attribute: ["address", "country"], is: "de", ignore_case: true },
    { attribute: "license_expires_at", after: "now" },
    { stream: "web", last: { after: "now-30d" } },
    { stream: "purchase", count: { at_least: 3, within: "90d" } },
    { not: { any: [{ segment: "staff" }, { attribute: "email", ends_with: "@acme.com" }] } },
  ],
};

/** Returns a rule of so many levels, the leaf counted. */
function nestedRule(levels: number): unknown {
  let rule: unknown = leaf;
  for (let level = 1; level < levels; level += 1) rule = level % 2 === 0 ? { not: rule } : { all: [rule] };
  return rule;
}

/** Returns a rule with this length as JSON. */
function ruleOfBytes(bytes: number): unknown {
  const rest = bytes - JSON.stringify({ attribute: "x", is: "" }).length;
  return { attribute: "x", is: `${"é".repeat(1_000)}${"a".repeat(rest - 2_000)}` };
}

/** Rules that are refused: rule, code, path. */
type Refused = readonly [rule: unknown, code: string, path: string];

const refused: Readonly<Record<string, readonly Refused[]>> = {
  "A condition is an object with one of seven fields": [
    [null, "not_an_object", "rule"],
    ["plan", "not_an_object", "rule"],
    [[leaf], "not_an_object", "rule"],
    [{}, "invalid_value", "rule"],
    [{ is: "pro" }, "invalid_value", "rule"],
    [{ all: [leaf], any: [leaf] }, "invalid_value", "rule"],
    [{ attribute: "x", segment: "y" }, "invalid_value", "rule"],
    [{ all: [leaf, { any: [leaf, null] }] }, "not_an_object", "rule.all[1].any[1]"],
    [{ not: [leaf] }, "not_an_object", "rule.not"],
    [{ not: null }, "not_an_object", "rule.not"],
  ],
  "A group has at least one condition": [
    [{ all: [] }, "invalid_value", "rule.all"],
    [{ any: [] }, "invalid_value", "rule.any"],
    [{ all: null }, "invalid_type", "rule.all"],
    [{ all: leaf }, "invalid_type", "rule.all"],
    [{ not: { any: [] } }, "invalid_value", "rule.not.any"],
  ],
  "An unknown field is refused": [
    [{ all: [leaf], name: "x" }, "unknown_field", "rule"],
    [{ attribute: "x", iss: "pro" }, "unknown_field", "rule"],
    [{ attribute: "x", count: { at_least: 1 } }, "unknown_field", "rule"],
    [{ stream: "web", is: "pro" }, "unknown_field", "rule"],
    [{ stream: "web", count: { at_least: 1, after: "now" } }, "unknown_field", "rule.count"],
    [{ stream: "web", last: { at_least: 1 } }, "unknown_field", "rule.last"],
    [{ segment: "staff", is: true }, "unknown_field", "rule"],
    [JSON.parse('{ "attribute": "x", "__proto__": 1 }'), "unknown_field", "rule"],
  ],
  "null is refused anywhere": [
    [{ attribute: null }, "invalid_type", "rule.attribute"],
    [{ attribute: "x", is: null }, "invalid_type", "rule.is"],
    [{ attribute: "x", is: ["a", null] }, "invalid_type", "rule.is[1]"],
    [{ attribute: "x", at_least: null }, "invalid_type", "rule.at_least"],
    [{ attribute: "x", is: "a", ignore_case: null }, "invalid_type", "rule.ignore_case"],
    [{ attribute: "x", after: null }, "invalid_type", "rule.after"],
    [{ stream: "web", count: null }, "invalid_type", "rule.count"],
    [{ stream: "web", last: { after: null } }, "invalid_type", "rule.last.after"],
    [{ segment: null }, "invalid_type", "rule.segment"],
  ],
  "An operand has the type of its test": [
    [{ attribute: "x", is: {} }, "invalid_type", "rule.is"],
    [{ attribute: "x", is: [["a"]] }, "invalid_type", "rule.is[0]"],
    [{ attribute: "x", is: [] }, "invalid_value", "rule.is"],
    [{ attribute: "x", at_least: "5" }, "invalid_type", "rule.at_least"],
    [{ attribute: "x", contains: 5 }, "invalid_type", "rule.contains"],
    [{ attribute: "x", starts_with: ["a"] }, "invalid_type", "rule.starts_with"],
    [{ attribute: 5 }, "invalid_type", "rule.attribute"],
    [{ attribute: ["x", 5] }, "invalid_type", "rule.attribute[1]"],
    [{ attribute: [] }, "invalid_value", "rule.attribute"],
    [{ attribute: "" }, "invalid_value", "rule.attribute"],
    [{ attribute: "x".repeat(257) }, "invalid_value", "rule.attribute"],
    [{ attribute: "segments" }, "invalid_value", "rule.attribute"],
    [{ attribute: ["segments"] }, "invalid_value", "rule.attribute[0]"],
    [{ segment: 5 }, "invalid_type", "rule.segment"],
    [{ segment: "" }, "invalid_value", "rule.segment"],
  ],
  "ignore_case needs is or a test of text": [
    [{ attribute: "x", ignore_case: true }, "invalid_value", "rule.ignore_case"],
    [{ attribute: "x", at_least: 1, ignore_case: true }, "invalid_value", "rule.ignore_case"],
    [{ attribute: "x", after: "now", ignore_case: true }, "invalid_value", "rule.ignore_case"],
    [{ attribute: "x", is: "a", ignore_case: false }, "invalid_value", "rule.ignore_case"],
  ],
  "An instant is absolute, or relative in minutes, hours, days or weeks": [
    ...["tomorrow", "", "2026-02-30", "now-", "now-1", "now-0d", "now-1mo", "now-1y", "now 1d", "now--1d", "NOW"].map(
      (after): Refused => [{ attribute: "x", after }, "invalid_value", "rule.after"],
    ),
    [{ attribute: "x", before: 5 }, "invalid_value", "rule.before"],
    [{ attribute: "x", before: true }, "invalid_type", "rule.before"],
    [{ attribute: "x", before: "now+365001d" }, "invalid_value", "rule.before"],
    [{ stream: "web", first: { before: "then" } }, "invalid_value", "rule.first.before"],
    [{ profile: "seen_at", after: "then" }, "invalid_value", "rule.after"],
  ],
  "A condition on a stream has valid names and tests": [
    [{ stream: [] }, "invalid_value", "rule.stream"],
    [{ stream: "" }, "invalid_value", "rule.stream"],
    [{ stream: ["web", "a b"] }, "invalid_value", "rule.stream[1]"],
    [{ stream: "x".repeat(129) }, "invalid_value", "rule.stream"],
    [{ stream: "all_streams" }, "invalid_value", "rule.stream"],
    [{ stream: "web", count: {} }, "invalid_value", "rule.count"],
    [{ stream: "web", count: { within: "1d" } }, "invalid_value", "rule.count"],
    [{ stream: "web", count: { at_least: "1" } }, "invalid_type", "rule.count.at_least"],
    [{ stream: "web", first: {} }, "invalid_value", "rule.first"],
    [{ stream: "web", last: {} }, "invalid_value", "rule.last"],
  ],
  "A count within a time has whole numbers up to 100": [
    ...["1y", "d", "1.5d", "-1d", "0d", "now-1d", "1mo", "365001d"].map(
      (within): Refused => [{ stream: "web", count: { at_least: 1, within } }, "invalid_value", "rule.count.within"],
    ),
    [{ stream: "web", count: { at_least: 101, within: "1d" } }, "invalid_value", "rule.count.at_least"],
    [{ stream: "web", count: { above: 101, within: "1d" } }, "invalid_value", "rule.count.above"],
    [{ stream: "web", count: { at_most: 1.5, within: "1d" } }, "invalid_value", "rule.count.at_most"],
    [{ stream: "web", count: { below: -1, within: "1d" } }, "invalid_value", "rule.count.below"],
  ],
  "A condition on the profile has an instant and a test": [
    [{ profile: "seen_at" }, "invalid_value", "rule"],
    [{ profile: "modified_at", after: "now" }, "invalid_value", "rule.profile"],
    [{ profile: "seen_at", is: "x" }, "unknown_field", "rule"],
  ],
  "An identity field can be tested for existence, and an e-mail by its domain": [
    [{ attribute: "user_id", is: "5" }, "identity_in_rule", "rule.is"],
    [{ attribute: ["user_id"], is: "5" }, "identity_in_rule", "rule.is"],
    [{ attribute: "user_id", starts_with: "5" }, "identity_in_rule", "rule.starts_with"],
    [{ attribute: "user_id", ends_with: "@5" }, "identity_in_rule", "rule.ends_with"],
    [{ attribute: "user_id", at_least: 5 }, "identity_in_rule", "rule.at_least"],
    [{ attribute: ["user_id", "x"] }, "identity_in_rule", "rule.attribute"],
    [{ attribute: "email", is: "ann@acme.com" }, "identity_in_rule", "rule.is"],
    [{ attribute: "email", contains: "@acme.com" }, "identity_in_rule", "rule.contains"],
    [{ attribute: "email", ends_with: "acme.com" }, "identity_in_rule", "rule.ends_with"],
    [{ attribute: "email", ends_with: "ann@acme.com" }, "identity_in_rule", "rule.ends_with"],
    [{ attribute: "email", ends_with: `@${"a".repeat(1_024)}` }, "identity_in_rule", "rule.ends_with"],
    [{ attribute: "email", ends_with: "@acme.com", after: "now" }, "identity_in_rule", "rule.after"],
    [{ any: [leaf, { not: { attribute: "email", is: ["a@b"] } }] }, "identity_in_rule", "rule.any[1].not.is"],
  ],
  "A rule above a limit is too large": [
    [nestedRule(9), "rule_too_large", "rule.not.all[0].not.all[0].not.all[0].not.all[0]"],
    [nestedRule(100_000), "rule_too_large", "rule.all[0].not.all[0].not.all[0].not.all[0].not"],
    [{ all: Array(51).fill(leaf) }, "rule_too_large", "rule.all"],
    [{ all: [{ any: Array(50).fill(leaf) }, leaf] }, "rule_too_large", "rule.all[1]"],
    [{ attribute: "x", is: Array(1_001).fill(1) }, "rule_too_large", "rule.is"],
    [{ attribute: Array(17).fill("x") }, "rule_too_large", "rule.attribute"],
    [{ stream: Array.from({ length: 51 }, (_, i) => `s${i}`) }, "rule_too_large", "rule.stream"],
    [ruleOfBytes(65_537), "rule_too_large", "rule"],
  ],
};

describe("a rule as JSON", () => {
  for (const [title, rows] of Object.entries(refused)) {
    it(title, () => {
      for (const [rule, code, path] of rows) {
        const issue = issueOf(rule);
        const words = path.length > 40 ? path : JSON.stringify(rule).slice(0, 100);
        expect({ code: issue?.code, path: issue?.path }, words).to.deep.equal({ code, path });
      }
    });
  }

  it("A rule at each limit is accepted", () => {
    for (const rule of [
      nestedRule(8),
      { all: Array(50).fill(leaf) },
      { all: [{ any: Array(49).fill(leaf) }, leaf] },
      { attribute: "x", is: Array(1_000).fill(1) },
      { attribute: Array(16).fill("x") },
      { attribute: "😀".repeat(256) },
      { stream: Array.from({ length: 50 }, (_, i) => `s${i}`) },
      { stream: "x".repeat(128), count: { at_least: 100, within: "1w" } },
      { stream: "web", count: { above: 100, at_most: 0, within: "365000d" } },
      { stream: "web", count: { at_least: 1_000_000, below: 1.5 } },
      { attribute: "email", ends_with: `@${"a".repeat(1_023)}` },
      ruleOfBytes(65_536),
    ]) {
      expect(issueOf(rule), JSON.stringify(rule).slice(0, 100)).to.equal(undefined);
    }
  });

  it("An error never contains a text of the rule", () => {
    const secret = "ann_example";
    for (const rule of [
      { attribute: "x", [secret]: 1 },
      { attribute: "x", is: { [secret]: secret } },
      { attribute: secret, after: secret },
      { attribute: "email", is: secret },
      { stream: `${secret} x` },
      { profile: secret, after: secret },
      { stream: "web", count: { at_least: 1, within: secret } },
      { [secret]: secret },
    ]) {
      const issue = issueOf(rule);
      expect(issue).to.not.equal(undefined);
      expect(JSON.stringify(issue)).to.not.contain(secret);
    }
  });

  it("An error about an empty list is a sentence", () => {
    const errors = [{ attribute: "x", is: [] }, { all: [] }].map((rule) => issueOf(rule)?.message);
    expect(errors).to.deep.equal(["is has at least one element", "all has at least one element"]);
  });

  it("A valid rule keeps its conditions", () => {
    expect(parse(example)).to.deep.equal(example);
  });

  it("Equal rules become equal as JSON text, also if their fields have another order", () => {
    const equal: readonly (readonly [unknown, unknown])[] = [
      [
        { stream: "web", last: { before: "now", after: "now-1d" }, count: { within: "1d", at_least: 1 } },
        { count: { at_least: 1, within: "1d" }, last: { after: "now-1d", before: "now" }, stream: "web" },
      ],
      [
        { is: "pro", attribute: "plan" },
        { attribute: ["plan"], is: ["pro"] },
      ],
      [{ stream: ["web", "app", "web"] }, { stream: ["web", "app"] }],
      [{ stream: ["web", "web"] }, { stream: "web" }],
      [
        { attribute: "email", ends_with: " @ACMÉ.com" },
        { attribute: "email", ends_with: "@acme\u0301.com" },
      ],
    ];
    for (const [a, b] of equal) expect(JSON.stringify(parse(a))).to.equal(JSON.stringify(parse(b)));
    expect(JSON.stringify(parse({ all: [leaf] }))).to.not.equal(JSON.stringify(parse(leaf)));
  });
});
