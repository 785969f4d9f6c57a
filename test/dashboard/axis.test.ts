import { expect } from "chai";
import { yAxis } from "../../src/dashboard/chart/axis.js";

describe("the y axis of a chart", () => {
  for (const [values, labels] of [
    [[0, 0, 0], "0 1"],
    [[], "0 1"],
    [[1], "0 1"],
    [[7], "0 2 4 6 8"],
    [[2, 3], "0 1 2 3"],
    [[980, 1337], "0 200 400 600 800 1,000 1,200 1,400"],
    [[0.25, 0.5], "0 0.1 0.2 0.3 0.4 0.5"],
    [[-5, -3], "−5 −4 −3 −2 −1 0"],
    [[-40, 25], "−40 −20 0 20 40"],
    [[1e-9], "0 2e−10 4e−10 6e−10 8e−10 1e−9"],
    [[1e-9, 0], "0 2e−10 4e−10 6e−10 8e−10 1e−9"],
    [[2e-9], "0 5e−10 1e−9 1.5e−9 2e−9"],
    [[-2e-9, 1e-9], "−2e−9 −1e−9 0 1e−9"],
    [[1_200_000, 2_900_000], "0 0.5 M 1.0 M 1.5 M 2.0 M 2.5 M 3.0 M"],
    [[-3_000_000_000], "−3 bn −2 bn −1 bn 0"],
    [[1.08e15], "0 2e14 4e14 6e14 8e14 1e15 1.2e15"],
    [[9_007_199_254_740_991], "0 2e15 4e15 6e15 8e15 1e16"],
  ] as const)
    it(`of ${JSON.stringify(values)} has the labels ${labels}`, () => {
      const { min, max, ticks, labels: written } = yAxis(values, { unit: "messages" });
      expect(written.join(" ")).to.equal(labels);
      expect([min, max]).to.deep.equal([ticks[0], ticks.at(-1)]);
      expect(new Set(written).size).to.equal(written.length);
      for (const value of values) expect(value).to.be.within(min, max);
    });

  it("of rates is in percent", () => {
    expect(yAxis([0.151, 0.189], { unit: "rate" }).labels.join(" ")).to.equal("0 % 5 % 10 % 15 % 20 %");
    expect(yAxis([0.0004], { unit: "rate" }).labels.at(-1)).to.equal("0.04 %");
    expect(yAxis([0], { unit: "rate" }).labels).to.deep.equal(["0 %", "100 %"]);
  });

  it("begins at the smallest value if it is fitted, unless all are equal", () => {
    expect(yAxis([980, 1337], { unit: "members", isFitted: true }).labels.join(" ")).to.equal(
      "900 1,000 1,100 1,200 1,300 1,400",
    );
    expect(yAxis([980, 981], { unit: "members", isFitted: true }).labels.join(" ")).to.equal("980 981");
    expect(yAxis([980, 980], { unit: "members", isFitted: true }).min).to.equal(0);
    expect(yAxis([1e15, 1e15 + 0.25], { unit: "members", isFitted: true }).ticks.length).to.be.at.most(8);
  });
});
