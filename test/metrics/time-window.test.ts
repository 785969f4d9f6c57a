import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { bucketGrid } from "../../src/metrics/bucket-grid.js";
import { formatDuration, parseDuration } from "../../src/metrics/duration.js";
import { parseMoment } from "../../src/metrics/moment.js";
import { type AskedWindow, timeWindow } from "../../src/metrics/time-window.js";
import { cpuMs } from "../support/cpu-time.js";

const now = Date.parse("2024-02-29T10:17:03.123Z");

describe("a duration", () => {
  for (const [text, ms] of [
    ["1m", 60_000],
    ["90m", 5_400_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["3w", 3 * 604_800_000],
    ["365000d", 365_000 * 86_400_000],
  ] as const) {
    it(`${text} is ${ms} ms`, () => expect(parseDuration(text)?.ms).to.equal(ms));
  }

  for (const text of [
    ...[
      "",
      "0d",
      "00h",
      "-2d",
      "+2d",
      "2",
      "h",
      "2x",
      "2H",
      "1.5h",
      "1h30m",
      "1 h",
      " 1h",
      "1h ",
      "1h\n",
      "١h",
      "1e3h",
    ],
    ...["99999999999999999999h", "365001d", "999999999w", `${"9".repeat(100_000)}h`],
  ]) {
    it(`is not ${JSON.stringify(text.slice(0, 24))}`, () => expect(parseDuration(text)).to.equal(undefined));
  }

  for (const [ms, text] of [
    [0, "0d"],
    [1, "1m"],
    [60_001, "2m"],
    [3_600_000, "1h"],
    [90 * 60_000, "90m"],
    [86_400_000, "1d"],
    [49 * 3_600_000, "49h"],
    [14 * 86_400_000, "14d"],
  ] as const) {
    it(`of ${ms} ms is written ${text}`, () => expect(formatDuration(ms)).to.equal(text));
  }
});

describe("a moment", () => {
  for (const [written, iso] of [
    ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29t10:00:00z", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29T10:00:00", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29T10:00:00.5", "2024-02-29T10:00:00.500Z"],
    ["2024-02-29T10:00:00.123456789Z", "2024-02-29T10:00:00.123Z"],
    ["2024-02-29T10:00:00+05:30", "2024-02-29T04:30:00.000Z"],
    ["2024-02-29T10:00:00 05:30", "2024-02-29T04:30:00.000Z"],
    ["2024-02-29T10:00:00-05:30", "2024-02-29T15:30:00.000Z"],
    ["2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00.000Z"],
    ["2024-02-29T10:00:00-00:00", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["0099-12-31", "0099-12-31T00:00:00.000Z"],
    ["1709200800000", "2024-02-29T10:00:00.000Z"],
    ["1709200800", "2024-02-29T10:00:00.000Z"],
    [1709200800000, "2024-02-29T10:00:00.000Z"],
    [1709200800, "2024-02-29T10:00:00.000Z"],
    ["now", "2024-02-29T10:17:03.123Z"],
    ["now-90m", "2024-02-29T08:47:03.123Z"],
    ["now-1w", "2024-02-22T10:17:03.123Z"],
  ] as const) {
    it(`${JSON.stringify(written)} is ${iso}`, () => {
      expect(new Date(parseMoment(written, now)?.at ?? Number.NaN).toISOString()).to.equal(iso);
    });
  }

  for (const written of [
    ...["", "1", "Tue", "12/31/69", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-1-1"],
    ...["2024-02-29T24:00:00Z", "2024-02-29T10:60:00Z", "2024-02-29T10:00:60Z", "2024-02-29T10:00:00+24:00"],
    ...["2024-02-29T10:00:00+0530", "2024-02-29T10:00:00.Z", "2024-02-29T10:00:00Z ", " 2024-02-29", "2024-02-29\n"],
    ...[
      "now+1d",
      "now--1d",
      "NOW-1d",
      "now-",
      "now-0d",
      "now-1.5h",
      "now -1d",
      "+2024-02-29",
      "-1709200800",
      "17092008000",
    ],
    ...[0, 1, -1709200800, 1709200800.5, 1e20, 17092008000000],
    "1".repeat(100_000),
  ]) {
    it(`is not ${JSON.stringify(written).slice(0, 30)}`, () => expect(parseMoment(written, now)).to.equal(undefined));
  }

  it("takes no time to refuse 100 KB of anything", async () => {
    const spent = await cpuMs(() => {
      for (const digit of ["1", "-", " ", "9:", "now-"]) {
        parseMoment(digit.repeat(100_000), now);
        parseDuration(digit.repeat(100_000));
      }
    });
    expect(spent).to.be.below(250);
  });
});

describe("a time window", () => {
  const cases: [AskedWindow, string, string, string, string][] = [
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
  ];
  for (const [asked, interval, from, to, range] of cases) {
    it(`${JSON.stringify(asked)} in buckets of ${interval} is ${from} to ${to}, ${range}`, () => {
      const window = timeWindow(asked, gridOf(interval), now);
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
    [{ range: "2024-01-01" }, "bad_range", "range"],
    [{ range: "now-2x" }, "bad_range", "range"],
    [{ range: "now" }, "bad_range", "range"],
    [{ start: "yesterday" }, "bad_date", "startdate"],
    [{ end: "now+1d" }, "bad_date", "enddate"],
    [{ start: "now-1d", end: "now-2d" }, "end_before_start", "enddate"],
    [{ start: "2024-02-29T10:30:00Z" }, "end_before_start", "enddate"],
  ] as const) {
    it(`${JSON.stringify(asked)} is refused as ${code}`, () => {
      const refusal = refusalOf(() => timeWindow(asked, gridOf("2h"), now));
      expect(refusal?.problems[0]).to.include({ code, path });
    });
  }
});

function gridOf(interval: string) {
  const duration = parseDuration(interval);
  if (duration === undefined) throw new Error(interval);
  return bucketGrid(duration);
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
