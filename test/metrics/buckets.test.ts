import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import { aggregate, ratio, smooth } from "../../src/metrics/query/aggregate.js";

const MOST = Number.MAX_VALUE;

/** Values within the usual range are compared with an oracle: see oracle.test.ts. */
describe("of the largest doubles,", () => {
  it("the sum of a bucket stays finite", () => {
    const sum = (...values: number[]) => [...aggregate(Float64Array.from(values), 0, HOUR, [0, 3 * HOUR], "sum")];
    expect([sum(MOST, MOST, 1), sum(-MOST, -MOST, 1)]).to.deep.equal([[MOST], [-MOST]]);
  });

  it("a ratio stays finite, and is absent for a denominator of 0", () => {
    expect([...ratio(Float64Array.of(MOST, 3), Float64Array.of(0.5, 0))]).to.deep.equal([MOST, Number.NaN]);
  });

  it("a moving average stays finite", () => {
    for (const [values, mean] of [
      [[MOST], MOST],
      [[MOST, MOST], MOST],
      [[MOST, MOST, MOST], MOST],
      [[-MOST, -MOST, -MOST], -MOST],
      [[MOST, MOST, -MOST], MOST / 3],
      [[-MOST, MOST, MOST], MOST / 3],
      [[1e308, 1e308, 1e308], 1e308],
      [[MOST, MOST, MOST / 2], MOST * (2.5 / 3)],
    ] as const) {
      const last = smooth(Float64Array.from(values)).at(-1) as number;
      expect(last, String(values)).to.satisfy(Number.isFinite);
      expect(last / mean, String(values)).to.be.closeTo(1, 1e-15);
    }
  });
});
