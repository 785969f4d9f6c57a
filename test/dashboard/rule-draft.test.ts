import { expect } from "chai";
import { type Condition, groupOf, newCondition, ruleOf } from "../../src/dashboard/rules/draft.js";

const drawn = [
  { attribute: "plan", is: ["pro", 5, true, "5", "true", "a, b", 'a "b"', " c"], ignore_case: true },
  { attribute: "email" },
  { attribute: "seats", at_least: 5 },
  { attribute: "email", ends_with: "@acme.com" },
  { attribute: "ends_at", before: "now+7d" },
  { stream: ["web", "mobile"] },
  { stream: "web", count: { at_least: 3, within: "90d" } },
  { stream: "web", count: { at_most: 0 } },
  { stream: "web", first: { before: "2026-01-31" } },
  { profile: "seen_at", after: "now-30d" },
  { segment: "staff" },
  { not: { segment: "staff" } },
  { not: { any: [{ segment: "staff" }, { all: [{ stream: "web" }] }] } },
];

const asJson = [
  { attribute: ["address", "country"], is: "de" },
  { attribute: "seats", at_least: 5, below: 10 },
  { attribute: "ends_at", after: 1_700_000_000 },
  { stream: "web", count: { at_least: 1, at_most: 3 } },
  { stream: "web", count: { at_least: 1 }, last: { after: "now-1d" } },
  { not: { not: { segment: "staff" } } },
];

const typed = (change: Partial<Condition>) => ruleOf({ ...newCondition(), name: "plan", ...change });

describe("a draft of a rule", () => {
  it("returns every rule that it draws unchanged; what rows cannot draw is JSON, next to rows", () => {
    const { parts } = groupOf({ all: [...drawn, ...asJson] });
    expect(parts.map(ruleOf)).to.deep.equal([...drawn, ...asJson]);
    expect(parts.map(({ kind }) => kind === "JSON")).to.deep.equal([
      ...drawn.map(() => false),
      ...asJson.map(() => true),
    ]);
    expect(ruleOf(groupOf({ segment: "staff" }))).to.deep.equal({ all: [{ segment: "staff" }] });
  });

  it("reads what is typed: values between commas, numbers and true as such, anything in quotes as text", () => {
    expect(typed({ value: ' pro,5 , "5",true, "a, b",' })).to.deep.equal({
      attribute: "plan",
      is: ["pro", 5, "5", true, "a, b"],
    });
    expect(typed({ value: "pro" })).to.deep.equal({ attribute: "plan", is: "pro" });
    expect(typed({ test: "at_least", value: " 1.50 " })).to.deep.equal({ attribute: "plan", at_least: 1.5 });
    expect(typed({ kind: "JSON", value: '{"segment":"a"}' })).to.deep.equal({ segment: "a" });
  });

  it("has no rule while a condition is incomplete, or a group empty", () => {
    const incomplete: Partial<Condition>[] = [
      { name: "", value: "pro" },
      { value: " , " },
      { test: "at_least", value: "" },
      { test: "at_least", value: "5x" },
      { test: "contains", value: "" },
      { kind: "JSON", value: '{"segment":' },
    ];
    for (const change of incomplete) expect(typed(change), JSON.stringify(change)).to.equal(undefined);
    const group = groupOf({ all: [{ segment: "a" }] });
    expect(ruleOf({ ...group, parts: [] })).to.equal(undefined);
    expect(ruleOf({ ...group, parts: [...group.parts, newCondition()] })).to.equal(undefined);
  });
});
