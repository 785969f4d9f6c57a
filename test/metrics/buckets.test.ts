import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import { aggregate, fillEmpty, ratio, smooth } from "../../src/metrics/query/aggregate.js";

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
