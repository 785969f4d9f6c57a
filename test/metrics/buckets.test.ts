import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import { aggregate, ratio, smooth } from "../../src/metrics/query/aggregate.js";

const MOST = Number.MAX_VALUE;

/** Values within the usual range are compared with an oracle: see oracle.test.ts. */
describe("values at the end of the range of a double", () => {
  it("The sum of a bucket stays finite", () => {
    const sum = (...values: number[]) => [
      ...aggregate(Float64Array.from(values), 0, HOUR, { start: 0, step: 3 * HOUR, count: 1 }, "sum"),
    ];
    expect([sum(MOST, MOST, 1), sum(-MOST, -MOST, 1)]).to.deep.equal([[MOST], [-MOST]]);
  });

  it("A ratio stays finite, and is absent for a denominator of 0", () => {
    expect([...ratio(Float64Array.of(MOST, 3), Float64Array.of(0.5, 0))]).to.deep.equal([MOST, Number.NaN]);
  });

  it("A moving average stays finite", () => {
    const [first, second, third] = smooth(Float64Array.of(MOST, MOST, -MOST));
    for (const value of [first, second]) expect((value as number) / MOST).to.be.closeTo(1, 1e-9);
    expect((third as number) / MOST).to.be.closeTo(1 / 3, 1e-9);
  });
});
