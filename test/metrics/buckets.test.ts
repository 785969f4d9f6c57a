import { expect } from "chai";
import fc from "fast-check";
import { HOUR } from "../../src/metrics/dimensions.js";
import { seriesPlan } from "../../src/metrics/query/series-plan.js";
import { seriesRequest } from "../../src/metrics/query/series-request.js";
import { aggregate, fillEmpty, ratio, serialise, smooth } from "../../src/metrics/query/series-values.js";

const NONE = Number.NaN;
const MOST = Number.MAX_VALUE;

describe("buckets", () => {
  const slots = Float64Array.of(3, NONE, -1, 4, NONE, NONE, 7);
  for (const [aggregation, values] of [
    ["sum", [3, 3, NONE, 7]],
    ["max", [3, 4, NONE, 7]],
    ["min", [3, -1, NONE, 7]],
  ] as const) {
    it(`hold the ${aggregation} of their slots, and nothing where nothing is saved`, () => {
      const made = aggregate(slots, 0, HOUR, { start: 0, step: 2 * HOUR, count: 4 }, aggregation);
      expect([...made]).to.deep.equal(values);
    });
  }

  it("shorter than a slot hold the slot that starts in them", () => {
    const made = aggregate(Float64Array.of(5, 6), HOUR, HOUR, { start: HOUR, step: HOUR / 4, count: 8 }, "sum");
    expect([...made]).to.deep.equal([5, NONE, NONE, NONE, 6, NONE, NONE, NONE]);
  });

  it("count no slot outside of them", () => {
    const made = aggregate(Float64Array.of(1, 2, 3, 4, 5), 0, HOUR, { start: HOUR, step: HOUR, count: 2 }, "sum");
    expect([...made]).to.deep.equal([2, 3]);
  });

  it("stay at the end of what a number can hold", () => {
    const sum = (...values: number[]) =>
      [...aggregate(Float64Array.from(values), 0, HOUR, { start: 0, step: 3 * HOUR, count: 1 }, "sum")][0];
    expect(sum(MOST, MOST, 1)).to.equal(MOST);
    expect(sum(-MOST, -MOST, 1)).to.equal(-MOST);
  });

  it("are 0 where they are empty, as far as they are filled", () => {
    const values = Float64Array.of(NONE, 2, NONE, NONE);
    fillEmpty(values, 3);
    expect([...values]).to.deep.equal([0, 2, 0, NONE]);
  });
});

describe("a ratio", () => {
  for (const [what, numerator, denominator, value] of [
    ["is numerator by denominator", 3, 4, 0.75],
    ["is absent without a denominator", 3, NONE, NONE],
    ["is absent for a denominator of 0", 3, 0, NONE],
    ["is 0 without a numerator", NONE, 4, 0],
    ["is absent without both", NONE, NONE, NONE],
    ["stays at the end of what a number can hold", MOST, 0.5, MOST],
  ] as const) {
    it(what, () => expect([...ratio(Float64Array.of(numerator), Float64Array.of(denominator))]).to.deep.equal([value]));
  }
});

describe("smoothing", () => {
  for (const [what, values, expected] of [
    ["is the mean of a bucket and the two before it", [1, 2, 6, 4], [1, 1.5, 3, 4]],
    ["leaves absent buckets out, and absent", [3, NONE, 5, NONE, NONE, 7], [3, NONE, 4, NONE, NONE, 7]],
    ["counts zeros", [3, 0, 0], [3, 1.5, 1]],
    ["copes with the largest numbers", [MOST, MOST, -MOST], [MOST, MOST, MOST / 3]],
    ["of nothing is nothing", [], []],
  ] as const) {
    it(what, () => {
      const smoothed = [...smooth(Float64Array.from(values))];
      expect(smoothed.length).to.equal(expected.length);
      for (const [i, value] of smoothed.entries()) {
        if (Number.isNaN(expected[i])) expect(value).to.be.NaN;
        else expect(value / (expected[i] as number) || 1).to.be.closeTo(1, 1e-9);
      }
    });
  }
});

describe("serialised points", () => {
  const now = Date.parse("2024-02-29T10:30:00Z");
  const HOURS = 24;
  const slots = fc.array(fc.constantFrom(NONE, 0, -0, 1, 2.5, -7, MOST), { minLength: HOURS, maxLength: HOURS });
  /** How many slots from the end may differ. */
  const changes = fc.tuple(slots, fc.nat(HOURS));
  const asked = {
    sums: { type: "size" },
    "moving averages": { type: "size", smooth: true },
    "empty rows": { type: "size", fillEmpty: true },
    "the window's own slots": { type: "size", interval: "1h" },
  };

  for (const [what, words] of Object.entries(asked)) {
    it(`are the same whether those before are taken over or not: ${what}`, () => {
      const request = seriesRequest({ dimension: "stream", id: "web", interval: "2h", range: "20h", ...words }, now);
      const plan = seriesPlan(request, now);
      const columnOf = (values: readonly number[]) => [
        { from: plan.to - HOURS * HOUR, values: Float64Array.from(values) },
      ];
      const textOf = (values: readonly number[], before?: readonly number[]) => {
        const known = before === undefined ? undefined : serialise(plan, columnOf(before), now);
        return serialise(plan, columnOf(values), now, known).json.toString();
      };
      fc.assert(
        fc.property(slots, changes, (before, [other, changed]) => {
          const after = [...before.slice(0, HOURS - changed), ...other.slice(HOURS - changed)];
          expect(textOf(after, before)).to.equal(textOf(after));
        }),
      );
    });
  }
});
