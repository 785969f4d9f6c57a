import { expect } from "chai";
import { age, DAY, HOUR } from "../../src/dashboard/duration.js";
import {
  amount,
  bucketLabel,
  change,
  changeIn,
  chartTitle,
  clockTime,
  count,
  shortNumber,
  shortTime,
  type Unit,
} from "../../src/dashboard/format.js";
import { serveDimensions } from "./served-dimensions.js";

describe("the dashboard", () => {
  before(() => serveDimensions());

  for (const [now, before, unit, text] of [
    [610, 531, "members", "+79, +15 %"],
    [531, 610, "members", "−79, −13 %"],
    [5, 5, "members", "0, 0 %"],
    [5, 0, "members", "+5, from 0"],
    [0, 0, "members", "0"],
    [0, 5, "members", "−5, −100 %"],
    [0.001, 0.0005, "members", "+0.0005, +100 %"],
    [100_000, 100_001, "messages", "−1, 0 %"],
    [0.25, 0.2564, "rate", "−0.6 pp, −2.5 %"],
    [0.2, 0.2003, "rate", "0 pp"],
    [0.25, 0.2, "rate", "+5 pp, +25 %"],
    [-1, -2, "members", "+1, +50 %"],
    [1_996, 1_000, "members", "+996, +99.6 %"],
    [19_999, 10_000, "members", "+9,999, +99.9 %"],
    [1, 10_000, "members", "−9,999, −99.9 %"],
    [20_001, 10_000, "members", "+10,001, +100.1 %"],
    [2, 1, "members", "+1, +100 %"],
    [null, 5, "members", "–"],
    [5, undefined, "members", "–"],
  ] as const) {
    it(`shows the change from ${before} to ${now} ${unit} as ${text}`, () => {
      expect(change(now, before, unit)).to.equal(text);
    });
  }

  for (const [value, unit, text] of [
    [12_345, "members", "12,345"],
    [0.25, "rate", "25 %"],
    [0.1894, "rate", "18.9 %"],
    [0, "rate", "0 %"],
    [-0, "members", "0"],
    [-0.001, "people", "−0.001"],
    [1e-9, "people", "0.000000001"],
    [0.005, "people", "0.005"],
    [-0.0001, "rate", "0 %"],
  ] as [number, Unit, string][]) {
    it(`shows ${Object.is(value, -0) ? "−0" : value} ${unit} as ${text}`, () => {
      expect(amount(value, unit)).to.equal(text);
    });
  }

  for (const [value, text] of [
    [999_999, "999,999"],
    [-12_345.678, "−12,345.68"],
    [999_999.9, "1\u00a0M"],
    [1_234_567, "1.23\u00a0M"],
    [-20_000_000, "−20\u00a0M"],
    [999_499_999, "999\u00a0M"],
    [999_999_999, "1\u00a0bn"],
    [45_600_000_000, "45.6\u00a0bn"],
    [999_999_999_999, "1 × 10¹²"],
    [1.08e15, "1.08 × 10¹⁵"],
    [-Number.MAX_VALUE, "−1.8 × 10³⁰⁸"],
  ] as const) {
    it(`shortens ${value} to ${text}`, () => {
      expect(shortNumber(value)).to.equal(text);
    });
  }

  for (const [now, before, unit, shown] of [
    [610, 531, "members", { by: "+79", share: "+15 %" }],
    [3_000_000, 1, "messages", { by: "+3\u00a0M", share: "+300\u00a0M %" }],
    [5, 0, "members", { by: "+5", share: "from 0" }],
    [0.2, 0.2003, "rate", { by: "0 pp", share: undefined }],
  ] as const) {
    it(`gives the change from ${before} to ${now} ${unit} in its two measures`, () => {
      expect(changeIn(now, before, unit, shortNumber)).to.deep.equal(shown);
    });
  }

  it("shows a count that is rounded to 0 without a sign", () => {
    expect(count(-0.4)).to.equal("0");
  });

  it("names a bucket with weekday, 24-hour clock and zone", () => {
    for (const [start, length, label] of [
      [Date.UTC(2026, 10, 23, 14), 2 * HOUR, "Mon 23 Nov, 14:00–16:00 UTC"],
      [Date.UTC(2026, 10, 23, 22), 2 * HOUR, "Mon 23 Nov, 22:00–00:00 UTC"],
      [Date.UTC(2026, 10, 23), DAY, "Mon 23 Nov UTC"],
      [Date.UTC(2026, 10, 23), 7 * DAY, "Mon 23 Nov – Sun 29 Nov UTC"],
      [Date.UTC(2026, 10, 1), 30 * DAY, "Sun 1 Nov – Mon 30 Nov UTC"],
      [Date.UTC(2026, 10, 22, 23), DAY, "Sun 22 Nov, 23:00 – Mon 23 Nov, 23:00 UTC"],
    ] as const)
      expect(bucketLabel(start, start + length, "UTC")).to.equal(label);
    expect(clockTime(Date.UTC(2026, 10, 23), "UTC")).to.equal("00:00");
  });

  it("names unit and bucket in the title of a chart", () => {
    const titles = [
      ["messages", "sum", "1h", "Messages", "per hour"],
      ["members", "max", "2h", "Members", "largest of each 2 hours"],
      ["messages", "sum", "1mo", "Messages", "per month"],
      ["rate", "max", "1d", "Conversion rate", "of each day"],
    ] as const;
    for (const [unit, aggregation, interval, title, bucket] of titles)
      expect(chartTitle(unit, aggregation, interval)).to.deep.equal({ title, bucket });
  });

  for (const [at, text] of [
    [Date.UTC(2026, 10, 28, 6, 29), "06:29"],
    [Date.UTC(2026, 10, 27, 23, 59), "27 Nov"],
    [Date.UTC(2026, 0, 1), "1 Jan"],
    [Date.UTC(2025, 11, 31, 23), "31 Dec 2025"],
  ] as const) {
    it(`shortens ${new Date(at).toISOString()} to ${text}`, () => {
      expect(shortTime(at, Date.UTC(2026, 10, 28, 21), "UTC")).to.equal(text);
    });
  }

  it("shows an age in one unit", () => {
    expect([0, 34_000, 5 * HOUR, 3 * DAY].map(age)).to.deep.equal(["0 s", "34 s", "5 h", "3 d"]);
    expect(age(-1_000)).to.equal("0 s");
  });
});
