import { expect } from "chai";
import { HOUR, segment, stream } from "../../src/metrics/dimensions.js";
import { trendWindow } from "../../src/metrics/query/trend-window.js";

const NOW = Date.UTC(2026, 10, 20, 21, 52);
const OPEN = Date.UTC(2026, 10, 20, 20);

describe("the window of a trend", () => {
  for (const [dimension, type, end] of [
    [segment, "size", OPEN + 2 * HOUR],
    [segment, "joined", OPEN],
    [stream, "size", OPEN + HOUR],
  ] as const) {
    it(`of a range ends ${end > NOW ? "with" : "before"} the open slot for ${dimension.name} ${type}`, () => {
      expect(trendWindow({ dimension, type }, { range: "1d" }, NOW, undefined).to).to.equal(end);
    });
  }
});
