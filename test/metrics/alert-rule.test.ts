import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import fc from "fast-check";
import { StartError } from "../../src/errors.js";
import {
  type AlertSetting,
  alertRules,
  decide,
  matches,
  windowSlots,
  windowValues,
} from "../../src/metrics/alerts/rule.js";
import { root } from "../support/source-tree.js";

const WEEK = 7 * 86_400_000;
const orders = { name: "no orders", series: "stream.orders.size", condition: "below", value: 3 };
const many = { name: "small", dimension: "segment", pattern: "vip-*", condition: "below", value: 3 };

type Change = { readonly [Field in keyof AlertSetting]?: AlertSetting[Field] | undefined };

const ruleOf = (setting: AlertSetting) => {
  const [rule] = alertRules([setting], undefined);
  if (rule === undefined) throw new Error("there is no rule");
  return rule;
};

describe("a rule of alerts", () => {
  const refused: readonly [string, Change, RegExp][] = [
    ["neither a series nor a pattern", { series: undefined }, /needs either series, or dimension and pattern$/],
    ["a series and a pattern", { pattern: "*" }, /needs either series/],
    ["a series and a dimension", { dimension: "stream" }, /takes no dimension/],
    ["a series without a type", { series: "stream.orders" }, /Allowed: <dimension>\.<id>\.<type>/],
    ["an unknown dimension", { series: "streams.orders.size" }, /needs a dimension\. Allowed: .*stream/],
    ["an unknown type", { series: "stream.orders.left" }, /Allowed for stream: size/],
    ["an id that no series has", { series: "stream.a\\.size" }, /wrong id/],
    ["an id of several series", { series: "segment.all_segments.size" }, /use a pattern/],
    ["no value", { value: undefined }, /needs a value for below/],
    ["a fall of nothing", { condition: "falls_by", value: 0 }, /percent/],
    ["a fall by more than everything", { condition: "falls_by", value: 101 }, /percent/],
    ["a value of silence", { condition: "silent_for", over: "2h" }, /takes no value/],
    ["silence without a duration", { condition: "silent_for", value: undefined }, /needs over/],
    ["a duration without a unit", { over: "2" }, /wrong over\. Allowed: a whole number/],
    ["a part of a slot", { over: "90m" }, /a multiple of 1h, at most 31d/],
    ["a part of a slot of 2 h", { ...many, series: undefined, over: "3h" }, /a multiple of 2h/],
    ["a duration of more than 31 days", { over: "32d" }, /at most 31d/],
    ["a window that the retention cuts", { over: "8d" }, /further back than points are kept/],
    ["two windows that the retention cuts", { condition: "falls_by", over: "4d" }, /further back than points are kept/],
  ];
  for (const [what, change, words] of refused) {
    it(`with ${what} ends the start with its name`, () => {
      const wrong = { ...orders, ...change } as AlertSetting;
      const start = () => alertRules([{ ...orders, name: "fine" }, wrong], WEEK);
      expect(start).to.throw(StartError, words).with.property("message").that.contains(JSON.stringify(wrong.name));
    });
  }

  it("of each example in docs/alerts.md is valid", () => {
    const page = readFileSync(join(root, "docs/alerts.md"), "utf8");
    const { alerts } = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "{}") as { alerts: AlertSetting[] };
    expect(alertRules(alerts, undefined)).to.have.length(4);
  });

  it("must have a name of its own", () => {
    expect(() => alertRules([orders, { ...many, name: orders.name }], undefined)).to.throw(/the name of another rule/);
  });

  it("has the save frequency as its duration, and rates or sizes as its type by default", () => {
    expect(ruleOf(many)).to.deep.include({ type: "size", over: { text: "2h", unit: "h", ms: 7_200_000 } });
    expect(ruleOf({ ...many, dimension: "experience" })).to.include({ type: "conversionrate" });
    expect(ruleOf({ ...orders, series: "segsize.a.b.c.joined" })).to.include({ id: "a.b.c", type: "joined" });
  });

  /** Saved and missing values of windows of two slots. */
  const slots = fc.array(fc.oneof(fc.constant(Number.NaN), fc.integer({ min: -3, max: 9 })), {
    minLength: 4,
    maxLength: 4,
  });
  const decided = (setting: AlertSetting, ...columns: number[][]) => {
    const rule = ruleOf(setting);
    const length = windowSlots(rule);
    return decide(
      rule,
      windowValues(
        rule,
        columns.map((column) => Float64Array.from(column.slice(-length))),
      ),
    );
  };
  const saved = (values: readonly number[]) => values.filter((value) => !Number.isNaN(value));
  const sum = (values: readonly number[]) => saved(values).reduce((total, value) => total + value, 0);

  it("compares the sum of counts, and the largest of sizes; without a value it decides nothing", () => {
    fc.assert(
      fc.property(slots, fc.integer({ min: -3, max: 18 }), (values, value) => {
        const last = values.slice(2);
        for (const [series, measured] of [
          ["stream.a.size", sum(last)],
          ["experience.a.size", Math.max(...saved(last))],
        ] as const) {
          const unknown = saved(last).length === 0;
          const rule = { name: "a", series, value, over: "2h" };
          const expected = (isFiring: boolean) => (unknown ? undefined : { isFiring, measured });
          expect(decided({ ...rule, condition: "below" }, values)).to.deep.equal(expected(measured < value));
          expect(decided({ ...rule, condition: "above" }, values)).to.deep.equal(expected(measured > value));
        }
      }),
    );
  });

  it("of a fall compares the window with the one before it, in percent", () => {
    fc.assert(
      fc.property(slots, fc.integer({ min: 1, max: 100 }), (values, value) => {
        const [before, now] = [values.slice(0, 2), values.slice(2)];
        const decision = decided({ ...orders, condition: "falls_by", value, over: "2h" }, values);
        const unknown = saved(before).length === 0 || saved(now).length === 0;
        const fall = sum(before) > 0 ? (1 - sum(now) / sum(before)) * 100 : 0;
        expect(decision).to.deep.equal(unknown ? undefined : { isFiring: fall >= value, measured: fall });
      }),
    );
    expect(decided({ ...orders, condition: "falls_by", value: 50, over: "1h" }, [8, 4])).to.include({ isFiring: true });
    expect(decided({ ...orders, condition: "falls_by", value: 51, over: "1h" }, [8, 4])).to.include({
      isFiring: false,
    });
  });

  it("of silence fires without any value other than 0, also without a value", () => {
    fc.assert(
      fc.property(slots, (values) => {
        const isFiring = values.slice(2).every((value) => Number.isNaN(value) || value === 0);
        const silent = { name: "a", series: "stream.a.size", condition: "silent_for", over: "2h" };
        expect(decided(silent, values)).to.deep.equal({ isFiring, measured: null });
      }),
    );
  });

  it("computes a rate as /api/metric does", () => {
    const rate = { name: "a", series: "experience.a.conversionrate", condition: "below", value: 0.5, over: "2h" };
    expect(decided(rate, [1, 2], [4, 8])).to.deep.equal({ isFiring: true, measured: 0.25 });
    expect(decided(rate, [Number.NaN, Number.NaN], [4, 8])).to.deep.equal({ isFiring: true, measured: 0 });
    expect(decided(rate, [1, 2], [0, 0])).to.equal(undefined);
  });

  it("with a pattern selects the ids that an expression of the same meaning selects", () => {
    const text = (characters: string) =>
      fc.array(fc.constantFrom(...characters), { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text("ab*?."), text("ab*?."), (pattern, id) => {
        const parts = [...pattern].map((one) =>
          one === "*" ? "[^]*" : one === "?" ? "[^]" : one === "." ? "\\." : one,
        );
        expect(matches(pattern, id)).to.equal(new RegExp(`^${parts.join("")}$`).test(id));
      }),
      { numRuns: 2_000 },
    );
  });
});
