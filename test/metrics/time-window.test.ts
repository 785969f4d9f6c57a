import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { bucketGrid } from "../../src/formats/buckets.js";
import { type CalendarSpan, type Duration, parseInterval } from "../../src/formats/duration.js";
import { type TimeZone, timeZone } from "../../src/formats/time-zone.js";
import { type RequestedWindow, timeWindow } from "../../src/metrics/query/time-window.js";

const now = Date.parse("2024-02-29T10:17:03.123Z");

describe("a time window", () => {
  const cases: [asked: RequestedWindow, interval: string, from: string, to: string, range: string, zone?: string][] = [
    [{}, "2h", "2024-02-27T10:00:00.000Z", "2024-02-29T10:17:03.123Z", "2d"],
    [{ range: "6h" }, "2h", "2024-02-29T04:00:00.000Z", "2024-02-29T10:17:03.123Z", "6h"],
    [{ range: "now-90m" }, "1h", "2024-02-29T08:00:00.000Z", "2024-02-29T10:17:03.123Z", "90m"],
    [{ range: "1d" }, "1w", "2024-02-26T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "1d"],
    [{ start: "now-3w" }, "1d", "2024-02-08T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "3w"],
    [{ start: "now-1d", end: "now" }, "1d", "2024-02-28T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "2058m"],
    [{ start: "2024-02-28" }, "1d", "2024-02-28T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "2058m"],
    [
      { start: "2024-02-28T01:23:45Z", end: "2024-02-29" },
      "1d",
      "2024-02-28T01:23:45.000Z",
      "2024-02-29T00:00:00.000Z",
      "1357m",
    ],
    [{ start: "2024-02-01", end: "2024-02-29" }, "2h", "2024-02-01T00:00:00.000Z", "2024-02-29T00:00:00.000Z", "28d"],
    [{ end: "2024-02-20T01:00:00Z" }, "2h", "2024-02-18T00:00:00.000Z", "2024-02-20T01:00:00.000Z", "49h"],
    [{ end: "now-1d" }, "2h", "2024-02-26T10:00:00.000Z", "2024-02-28T10:17:03.123Z", "2898m"],
    [{ start: "now", end: "now" }, "2h", "2024-02-29T10:17:03.123Z", "2024-02-29T10:17:03.123Z", "0d"],
    [{ start: "2024-02-28", end: "2024-02-28" }, "2h", "2024-02-28T00:00:00.000Z", "2024-02-28T00:00:00.000Z", "0d"],
    [{ start: "2030-01-01", end: "2030-01-02" }, "2h", "2030-01-01T00:00:00.000Z", "2030-01-02T00:00:00.000Z", "1d"],
    [{ range: "1mo" }, "1h", "2024-01-29T10:00:00.000Z", "2024-02-29T10:17:03.123Z", "1mo"],
    [{ range: "now-1y" }, "1d", "2023-02-28T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "1y"],
    [{ start: "now-5mo" }, "1q", "2023-07-01T00:00:00.000Z", "2024-02-29T10:17:03.123Z", "5mo"],
    [{ start: "now-1mo", end: "now" }, "2h", "2024-01-29T10:00:00.000Z", "2024-02-29T10:17:03.123Z", "44658m"],
    [{ range: "6d" }, "1d", "2024-02-22T23:00:00.000Z", "2024-02-29T10:17:03.123Z", "6d", "Europe/Berlin"],
    // At the same time on the clock, in summer time.
    [{ range: "6mo" }, "1h", "2023-08-29T09:00:00.000Z", "2024-02-29T10:17:03.123Z", "6mo", "Europe/Berlin"],
    [{ range: "1mo" }, "1w", "2024-01-28T23:00:00.000Z", "2024-02-29T10:17:03.123Z", "1mo", "Europe/Berlin"],
    [{ end: "2024-01-03" }, "1d", "2023-12-31T18:30:00.000Z", "2024-01-02T18:30:00.000Z", "2d", "Asia/Kolkata"],
    [
      { start: "2011-12-30", end: "2012-01-01" },
      "1d",
      "2011-12-30T10:00:00.000Z",
      "2011-12-31T10:00:00.000Z",
      "1d",
      "Pacific/Apia",
    ],
  ];
  for (const [asked, interval, from, to, range, zone = "UTC"] of cases) {
    it(`${JSON.stringify(asked)} in buckets of ${interval} in ${zone} is from ${from} to ${to} (${range})`, () => {
      const window = timeWindow(asked, bucketsOf(interval, zone), now);
      expect([new Date(window.from).toISOString(), new Date(window.to).toISOString(), window.range]).to.deep.equal([
        from,
        to,
        range,
      ]);
    });
  }

  for (const [asked, code, path] of [
    [{ range: "2d", start: "now-1d" }, "range_with_date", "range"],
    [{ range: "2d", end: "now" }, "range_with_date", "range"],
    [{ range: "2024-01-01" }, "invalid_range", "range"],
    [{ range: "now-2x" }, "invalid_range", "range"],
    [{ range: "now" }, "invalid_range", "range"],
    [{ range: "1q" }, "invalid_range", "range"],
    [{ start: "now-1q" }, "invalid_date", "startdate"],
    [{ start: "yesterday" }, "invalid_date", "startdate"],
    [{ end: "now+1d" }, "invalid_date", "enddate"],
    [{ start: "now-1d", end: "now-2d" }, "end_before_start", "enddate"],
    [{ start: "2024-02-29T10:30:00Z" }, "end_before_start", "enddate"],
  ] as const) {
    it(`${JSON.stringify(asked)} is refused as ${code}`, () => {
      const refusal = refusalOf(() => timeWindow(asked, bucketsOf("2h", "UTC"), now));
      expect(refusal?.issues[0]).to.include({ code, path });
    });
  }
});

function bucketsOf(interval: string, name: string) {
  const zone = timeZone(name) as TimeZone;
  return { grid: bucketGrid(parseInterval(interval) as Duration | CalendarSpan, zone), zone };
}

function refusalOf(work: () => unknown): ServiceError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
