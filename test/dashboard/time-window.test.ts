import { expect } from "chai";
import { readAddress } from "../../src/dashboard/address.js";
import { DAY, HOUR } from "../../src/dashboard/duration.js";
import { countedWindow } from "../../src/dashboard/figures.js";
import { presetWindow } from "../../src/dashboard/page/presets.js";
import { gridOf, newestWindow, type Viewed, windowBefore, windowOf } from "../../src/dashboard/time-window.js";
import { serveDimensions } from "./served-dimensions.js";

/** Friday. */
const NOW = Date.UTC(2026, 10, 20, 21, 52, 10);
const of = (search: string, now = NOW): Viewed => ({
  address: readAddress(`?view=explore&${search}`),
  now,
  zone: "UTC",
});

describe("the time windows of the dashboard", () => {
  before(() => serveDimensions());

  it("have presets of the calendar in the zone of the page", () => {
    const day = (date: number) => Date.UTC(2026, 10, date);
    expect(presetWindow("today", NOW, "UTC")).to.deep.equal({ from: day(20), to: day(20) + 22 * HOUR });
    expect(presetWindow("yesterday", NOW, "UTC")).to.deep.equal({ from: day(19), to: day(20) });
    expect(presetWindow("last month", NOW, "UTC")).to.deep.equal({ from: Date.UTC(2026, 9), to: day(1) });
    const local = presetWindow("yesterday", NOW, "local");
    expect([local.from, local.to].map((ms) => new Date(ms).getHours())).to.deep.equal([0, 0]);
  });

  for (const [range, dimension, interval, count] of [
    ["24h", "stream", "1h", 25],
    ["24h", "segment", "2h", 13],
    ["7d", "stream", "1h", 169],
    ["7d", "segment", "2h", 85],
    ["4w", "stream", "1d", 29],
    ["13w", "segment", "1d", 92],
    ["52w", "stream", "1w", 53],
    ["1mo", "stream", "1d", 32],
    ["3mo", "segment", "1d", 93],
    ["12mo", "segment", "1w", 53],
  ] as const) {
    it(`have ${count} buckets of ${interval} for ${range} of a ${dimension}, the first whole and the last open`, () => {
      const window = windowOf(of(`range=${range}`), dimension);
      expect(window.interval).to.equal(interval);
      expect(window.buckets).to.have.length(count);
      expect(gridOf(interval, "UTC").startOf(window.from)).to.equal(window.from);
      expect(window.buckets.at(-1)).to.be.at.most(NOW);
      expect(window.to).to.be.above(NOW);
    });
  }

  it("have buckets of days from eight days to three months, and longer ones of weeks, but at most 200", () => {
    for (const [from, to, interval] of [
      ["2026-11-01", "2026-11-08", "1h"],
      ["2026-11-01", "2026-11-09", "1d"],
      ["2026-07-01", "2026-10-01", "1d"],
      ["2026-07-01", "2026-10-03", "1w"],
      ["2020-01-01", "2026-01-01", "1mo"],
    ] as const)
      expect(windowOf(of(`from=${from}&to=${to}`), "stream").interval, `${from} ${to}`).to.equal(interval);
  });

  it("have buckets of a week that begin on Monday", () => {
    const { buckets, interval } = windowOf(of("range=52w"), "stream");
    expect(interval).to.equal("1w");
    expect(new Set(buckets.map((ts) => new Date(ts).getUTCDay()))).to.deep.equal(new Set([1]));
    expect(new Date(buckets.at(-1) ?? 0).toISOString()).to.equal("2026-11-16T00:00:00.000Z");
  });

  it("are widened to whole buckets if they are custom, and then do not depend on now", () => {
    const search = "from=2026-11-01T00:30:00Z&to=2026-11-01T05:30:00Z";
    const { from, to, buckets } = windowOf(of(search), "stream");
    expect([from, to]).to.deep.equal([Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 1, 6)]);
    expect(buckets).to.have.length(6);
    expect(windowOf(of(search, NOW + DAY), "stream")).to.deep.equal(windowOf(of(search), "stream"));
    expect(windowOf(of(search), "segment").buckets).to.have.length(3);
  });

  it("are kept if they are custom and of whole buckets, and contain at least one bucket", () => {
    const whole = windowOf(of("from=2026-11-01&to=2026-11-02"), "stream");
    expect(whole.buckets).to.have.length(24);
    const short = windowOf(of("from=2026-11-01T00:10:00Z&to=2026-11-01T00:20:00Z"), "segment");
    expect(short.buckets).to.deep.equal([Date.UTC(2026, 10, 1)]);
  });

  it("replace an interval that is shorter than a slot or results in more than 200 buckets", () => {
    expect(windowOf(of("range=7d&interval=1h"), "segment").interval).to.equal("2h");
    expect(windowOf(of("range=52w&interval=1h"), "stream").interval).to.equal("1w");
    expect(windowOf(of("range=7d&interval=1d"), "segment").interval).to.equal("1d");
  });

  for (const [search, dimension, days] of [
    ["range=24h", "stream", 1],
    ["range=7d", "stream", 7],
    ["range=7d&interval=2d", "stream", 6],
    ["range=13w&interval=12h", "segment", 91],
    ["range=52w&interval=1w", "stream", 364],
    ["range=1mo&interval=1d", "stream", 31],
    ["from=2026-11-02&to=2026-11-19&interval=1w", "stream", 14],
    ["from=2026-11-16&to=2026-11-26", "stream", 4],
  ] as const) {
    it(`are compared with the same buckets ${days} days earlier: ${search}`, () => {
      const window = windowOf(of(search), dimension);
      const before = windowBefore(window, of(search));
      expect(before.buckets).to.deep.equal(window.buckets.map((ts) => ts - days * DAY));
      expect([before.from, before.to]).to.deep.equal([window.from - days * DAY, window.to - days * DAY]);
    });
  }

  it("have the months of the calendar, and are compared with as many months before", () => {
    const viewed = of("range=3mo&interval=1mo");
    const window = windowOf(viewed, "stream");
    const months = (...of: number[]) => of.map((month) => Date.UTC(2026, month));
    expect(window.buckets).to.deep.equal(months(7, 8, 9, 10));
    expect(windowBefore(window, viewed).buckets).to.deep.equal(months(4, 5, 6, 7));
  });

  it("have days of the browser's zone with Local time, whose name the service gets unless the buckets are hours", () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    const viewed = { ...of("range=7d&interval=1d"), zone: "local" } as const;
    const { buckets, timezone } = windowOf(viewed, "stream");
    expect([new Set(buckets.map((ts) => new Date(ts).getHours())), timezone]).to.deep.equal([new Set([0]), timeZone]);
    expect(windowOf({ ...of("range=24h"), zone: "local" }, "stream").timezone).to.equal(undefined);
  });

  it("have the hours before their end as the newest, and the open hour if they end later", () => {
    const open = Math.floor(NOW / HOUR) * HOUR;
    for (const [search, last] of [
      ["range=7d", open],
      ["range=52w", open],
      ["from=2030-01-01&to=2030-02-01", open],
      ["from=2026-11-09&to=2026-11-10T10:30", Date.UTC(2026, 10, 10, 10)],
      ["from=2026-01-01&to=2026-11-10T10:30", Date.UTC(2026, 10, 15, 23)],
    ] as const) {
      const { buckets } = newestWindow(of(search), "experience");
      expect(buckets.at(-1), search).to.equal(last);
      expect(buckets, search).to.have.length(28 * 24);
    }
  });

  it("count the messages of whole hours, and of none in the future", () => {
    for (const [search, startdate, enddate] of [
      ["range=24h", "2026-11-19T21:00:00.000Z", "2026-11-20T21:00:00.000Z"],
      ["from=2026-11-09&to=2026-11-10", "2026-11-09T00:00:00.000Z", "2026-11-10T00:00:00.000Z"],
      ["from=2030-01-01&to=2030-01-02", "2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"],
      ["from=1999-01-01&to=1999-01-02", "1999-01-01T00:00:00.000Z", "1999-01-02T00:00:00.000Z"],
    ] as const)
      expect(countedWindow(of(search)), search).to.deep.equal({ startdate, enddate, interval: "1h" });
  });
});
