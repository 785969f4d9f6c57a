import { expect } from "chai";
import { bucketGrid, evenGrid } from "../../src/formats/buckets.js";
import { comparedWindows, sinceBegun } from "../../src/formats/compared-windows.js";
import { type CalendarSpan, parseInterval } from "../../src/formats/duration.js";
import { utc } from "../../src/formats/time-zone.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 10);

describe("a change of counts compares only what both windows have", () => {
  const hours = evenGrid(HOUR);
  const days = evenGrid(DAY);
  for (const [title, grid, begun, later] of [
    ["whole windows of a series that has begun before", days, -4 * DAY - HOUR, 0],
    ["no day in which the series begins, the first one", days, -3 * DAY + 5 * HOUR, DAY],
    ["no day in which the series begins, at its midnight", days, -3 * DAY, DAY],
    ["no day in which the series begins, a later one", days, -2 * DAY + HOUR, 2 * DAY],
    ["nothing if the series begins in the last day", days, -HOUR, undefined],
    ["nothing if the series begins in the window", days, HOUR, undefined],
    ["whole windows of hours if the series has begun before", hours, -4 * DAY, 0],
    ["the hour in which the series begins", hours, -3 * DAY + 5 * HOUR, 5 * HOUR],
    ["the last hour before the window", hours, -HOUR, 3 * DAY - HOUR],
  ] as const)
    it(`contains ${title}`, () => {
      const windows = { before: START - 3 * DAY, start: START, end: START + 3 * DAY };
      const expected =
        later === undefined ? undefined : { ...windows, before: START - 3 * DAY + later, start: START + later };
      expect(sinceBegun(grid, windows, START + begun, HOUR)).to.deep.equal(expected);
    });

  it("pairs months of different length", () => {
    const months = bucketGrid(parseInterval("1mo") as CalendarSpan, utc);
    const windows = comparedWindows(months, Date.UTC(2026, 2), Date.UTC(2026, 4));
    expect(windows.before).to.equal(Date.UTC(2026, 0));
    const since = { before: Date.UTC(2026, 1), start: Date.UTC(2026, 3), end: Date.UTC(2026, 4) };
    expect(sinceBegun(months, windows, Date.UTC(2026, 0, 20), HOUR)).to.deep.equal(since);
  });
});
