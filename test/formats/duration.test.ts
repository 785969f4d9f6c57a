import { expect } from "chai";
import { formatDuration, parseDuration, parseInterval, parseRange } from "../../src/formats/duration.js";

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

  for (const [text, months, isRange] of [
    ["1mo", 1, true],
    ["2q", 6, false],
    ["1000y", 12_000, true],
    ["12001mo", undefined, false],
    ["4001q", undefined, false],
    ["0y", undefined, false],
    ["1MO", undefined, false],
    ["1mo ", undefined, false],
  ] as const) {
    it(`${text} is ${months ?? "no"} months of an interval, ${isRange ? "and" : "not"} of a range`, () => {
      const [interval, range] = [parseInterval(text), parseRange(text)];
      const monthsOf = (span: typeof interval) => (span !== undefined && "months" in span ? span.months : undefined);
      expect([parseDuration(text), monthsOf(interval), monthsOf(range)]).to.deep.equal([
        undefined,
        months,
        isRange ? months : undefined,
      ]);
    });
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
