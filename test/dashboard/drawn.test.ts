import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { drawnOf, scaleValues } from "../../src/dashboard/chart/drawn.js";
import type { Series, Values } from "../../src/dashboard/fetch-series.js";
import { windowOf } from "../../src/dashboard/time-window.js";
import { netOf } from "../../src/dashboard/views/net-of-moves.js";
import { serveDimensions } from "./served-dimensions.js";

const NOW = Date.UTC(2026, 10, 20, 21, 52);

describe("the drawing of a chart", () => {
  before(() => serveDimensions());

  const series = (name: string, values: Values, rest: Partial<Series> = {}): Series => ({
    name,
    label: name,
    unit: "messages",
    window: windowOf({ address: readAddress("?range=24h"), now: NOW, zone: "UTC" }, "stream"),
    aggregation: "sum",
    values,
    before: undefined,
    completeUntil: NOW,
    nextSaveAt: NOW,
    ...rest,
  });
  const web = series("stream.web.size", [10, null, 12], { before: [20, 1, 1] });
  const mobile = series("stream.mobile.size", [3, 4, null]);
  const rest = (values: Values) => series("stream.other", values, { isRest: true });

  it("stacks series in their order, the rest above all, and leaves the window before out", () => {
    const drawn = drawnOf([web, mobile, rest([1, 1, 1])], "stack");
    expect(drawn.map(({ one, values }) => [one.name, values])).to.deep.equal([
      ["stream.other", [14, 5, 13]],
      ["stream.mobile.size", [13, 4, 12]],
      ["stream.web.size", [10, null, 12]],
    ]);
    expect(drawn.some(({ before }) => before !== undefined)).to.equal(false);
  });

  it("has a scale that the values and the window before decide", () => {
    const { values, isRestCut } = scaleValues(drawnOf([web, mobile], "lines"));
    expect([Math.max(...values), isRestCut]).to.deep.equal([20, false]);
  });

  it("cuts the rest of all series where it would flatten the named ones", () => {
    for (const [shape, values, most, isCut] of [
      ["lines", [40, 0, 0], 40, false],
      ["lines", [41, 0, 0], 20, true],
      ["stack", [1, 1, 1], 14, false],
      ["stack", [400, 1, 1], 13, true],
    ] as const) {
      const scale = scaleValues(drawnOf([web, mobile, rest(values)], shape));
      expect([Math.max(...scale.values), scale.isRestCut], `${shape} ${values}`).to.deep.equal([most, isCut]);
    }
    expect(scaleValues(drawnOf([rest([400, 1, 1])], "lines")).isRestCut).to.equal(false);
  });

  it("has bars of people who joined above 0 and of those who left below, and their net as a line", () => {
    const joined = series("segment.a.joined", [5, 0, null, null], { before: [1, 1, 1, 1] });
    const left = series("segment.a.left", [7, 2, 3, null], { before: [0, 1, null, 3] });
    const [net, ...none] = netOf([joined, left]);
    expect([net?.name, net?.values, net?.before, none.length]).to.deep.equal([
      "segment.a.net",
      [-2, -2, -3, null],
      [1, 0, 1, -2],
      0,
    ]);
    expect(netOf([joined])).to.deep.equal([]);
    const drawn = drawnOf([joined, left, net as Series], "bars");
    expect(drawn.map(({ values, isBar }) => [values, isBar])).to.deep.equal([
      [[5, 0, null, null], true],
      [[-7, -2, -3, null], true],
      [[-2, -2, -3, null], false],
    ]);
  });
});
