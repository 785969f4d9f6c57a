import { expect } from "chai";
import type { Series, Values } from "../../src/dashboard/fetch-series.js";
import { hourlyWindow } from "../../src/dashboard/time-window.js";
import { heatOf } from "../../src/dashboard/views/heat.js";

const HOUR = 3_600_000;
/** Monday, 10:00. */
const MONDAY = Date.UTC(2026, 10, 16, 10);

describe("the heat map of a stream", () => {
  const series = (values: Values, completeUntil = MONDAY + values.length * HOUR): Series => ({
    name: "stream.web.size",
    label: "web",
    unit: "messages",
    window: hourlyWindow(MONDAY, MONDAY + values.length * HOUR),
    aggregation: "sum",
    values,
    before: undefined,
    completeUntil,
    nextSaveAt: completeUntil + HOUR,
  });

  it("has the mean of each hour of the week, in which hours without messages count as 0", () => {
    const values = Array.from({ length: 8 * 24 }, (_, at) => (at === 0 ? 10 : at === 7 * 24 + 1 ? 4 : null));
    const { means, hours, silent } = heatOf(series(values), "UTC");
    expect([means[0]?.[10], means[0]?.[11], means[0]?.[12], means[6]?.[3]]).to.deep.equal([5, 2, 0, 0]);
    expect([hours, silent]).to.deep.equal([8 * 24, 8 * 24 - 2]);
  });

  it("begins with the first message and ends with the newest saved hour; other cells are empty", () => {
    const { means, hours, silent } = heatOf(series([null, 0, 6, null, 3, null], MONDAY + 5 * HOUR), "UTC");
    expect(means[0]?.slice(9, 17)).to.deep.equal([undefined, undefined, undefined, 6, 0, 3, undefined, undefined]);
    expect([hours, silent]).to.deep.equal([3, 1]);
    expect(heatOf(series([null, null]), "UTC")).to.deep.include({ hours: 0, silent: 0 });
    expect(heatOf(undefined, "UTC").hours).to.equal(0);
  });
});
