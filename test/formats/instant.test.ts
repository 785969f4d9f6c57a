import { expect } from "chai";
import { parseDuration } from "../../src/formats/duration.js";
import { instantReader, parseInstant } from "../../src/formats/instant.js";
import { cpuMs } from "../support/cpu-time.js";

const now = Date.parse("2024-02-29T10:17:03.123Z");
const JUNE = Date.UTC(2024, 5, 1);

describe("an instant", () => {
  for (const [written, iso] of [
    ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29t10:00:00z", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29T10:00:00", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29T10:00:00.5", "2024-02-29T10:00:00.500Z"],
    ["2024-02-29T10:00:00.123456789Z", "2024-02-29T10:00:00.123Z"],
    ["2024-02-29T10:00:00+05:30", "2024-02-29T04:30:00.000Z"],
    ["2024-02-29T10:00:00 05:30", "2024-02-29T04:30:00.000Z"],
    ["2024-02-29T10:00:00-05:30", "2024-02-29T15:30:00.000Z"],
    ["2024-02-29 10:00:00Z", "2024-02-29T10:00:00.000Z"],
    ["2024-02-29 10:00:00.5", "2024-02-29T10:00:00.500Z"],
    ["2024-02-29 10:00:00 05:30", "2024-02-29T04:30:00.000Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["2024-02-29T10:00:60.25-05:30", "2024-02-29T15:31:00.250Z"],
    ["2024-02-29 23:59:60", "2024-03-01T00:00:00.000Z"],
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
      expect(new Date(parseInstant(written, now)?.at ?? Number.NaN).toISOString()).to.equal(iso);
    });
  }

  for (const written of [
    ...["", "1", "Tue", "12/31/69", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-1-1"],
    ...["2024-02-29T24:00:00Z", "2024-02-29T10:60:00Z", "2024-02-29T10:00:61Z", "2024-02-29T10:00:00+24:00"],
    ...["2024-02-29  10:00:00", "2024-02-29\t10:00:00", "2024-02-29_10:00:00", "2024-02-2910:00:00"],
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
    it(`is not ${JSON.stringify(written).slice(0, 30)}`, () => expect(parseInstant(written, now)).to.equal(undefined));
  }

  it("is refused at once if it has 100 KB", async () => {
    const spent = await cpuMs(() => {
      for (const digit of ["1", "-", " ", "9:", "now-"]) {
        parseInstant(digit.repeat(100_000), now);
        parseDuration(digit.repeat(100_000));
      }
    });
    expect(spent).to.be.below(250);
  });
});

describe("a time in a file", () => {
  const times: [written: unknown, ms: number][] = [
    ["2024-06-01T00:00:00Z", JUNE],
    ["2024-06-01T02:00:00+02:00", JUNE],
    ["2024-06-01T00:00:00.250Z", JUNE + 250],
    ["2024-06-01T00:00:00", JUNE],
    ["2024-06-01 00:00:00", JUNE],
    ["2024-06-01 00:00", JUNE],
    ["2024-05-31 23:59:60", JUNE],
    ["2024-06-01", JUNE],
    [" 2024-06-01 ", JUNE],
    [String(JUNE), JUNE],
    [JUNE, JUNE],
    [String(JUNE / 1000), JUNE],
    [JUNE / 1000, JUNE],
    [`${JUNE / 1000}.25`, JUNE + 250],
    ["2024-02-30", Number.NaN],
    ["06/01/2024", Number.NaN],
    ["now", Number.NaN],
    ["now-1d", Number.NaN],
    ["", Number.NaN],
    [null, Number.NaN],
    [true, Number.NaN],
    [Number.POSITIVE_INFINITY, Number.NaN],
  ];

  for (const [written, ms] of times) {
    it(`is ${Number.isNaN(ms) ? "invalid" : new Date(ms).toISOString()} if it is ${JSON.stringify(written)}`, () => {
      const read = instantReader();
      expect([read(written), read(written)]).to.deep.equal([ms, ms]);
    });
  }
});
