import { expect } from "chai";
import { bucketBounds, bucketGrid } from "../../src/formats/buckets.js";
import { type CalendarSpan, type Duration, parseInterval } from "../../src/formats/duration.js";
import { type TimeZone, timeZone } from "../../src/formats/time-zone.js";
import { type LocalDay, localDays } from "../support/local-days.js";

const DAY = 86_400_000;
const [first, end] = [Date.UTC(1970, 0, 3), Date.UTC(2100, 11, 30)];

/** A date from 1970-01-01 on → the number of its bucket. */
const bucketsOfDates: Readonly<Record<string, (date: number) => number>> = {
  "1d": (date) => date,
  "3d": (date) => Math.floor(date / 3),
  "1w": (date) => Math.floor((date - 4) / 7),
  "2w": (date) => Math.floor((date - 4) / 14),
  "1mo": (date) => monthOf(date),
  "5mo": (date) => Math.floor(monthOf(date) / 5),
  "1q": (date) => Math.floor(monthOf(date) / 3),
  "1y": (date) => Math.floor(monthOf(date) / 12),
  "7y": (date) => Math.floor(monthOf(date) / 84),
};

function monthOf(date: number): number {
  const [year, month] = new Date(date * DAY).toISOString().split("-");
  return (Number(year) - 1970) * 12 + Number(month) - 1;
}

describe("buckets of local days, weeks, months, quarters and years", function () {
  this.timeout(120_000);

  for (const name of [
    "Pacific/Apia",
    "Pacific/Chatham",
    "Africa/Cairo",
    "Antarctica/Troll",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
  ]) {
    it(`begin from 1970 to 2100 when the first date of each begins on a clock in ${name}`, () => {
      const days = localDays(name, first, end);
      for (const [interval, bucketOf] of Object.entries(bucketsOfDates)) {
        const starts = startsOf(days, bucketOf);
        const grid = bucketGrid(parseInterval(interval) as Duration | CalendarSpan, timeZone(name) as TimeZone);
        const [start, last] = [starts[0] as number, starts.at(-1) as number];
        expect(bucketBounds(grid, start, last, 100_000), interval).to.deep.equal(starts);
        for (let i = 0; i < 300; i += 1) {
          const at = Math.floor(start + ((last - start) * i) / 300);
          const index = starts.findLastIndex((one) => one <= at);
          expect([grid.startOf(at), grid.endOf(at)], `${interval} at ${at}`).to.deep.equal([
            starts[index],
            starts[index + 1],
          ]);
        }
        for (const [i, one] of starts.slice(1, -1).entries()) {
          if (grid.startOf(one) !== one || grid.startOf(one - 1) !== starts[i]) expect.fail(`${interval} at ${one}`);
        }
      }
    });
  }
});

it("the buckets of a window that holds far too many are not computed", () => {
  for (const interval of Object.keys(bucketsOfDates)) {
    const grid = bucketGrid(parseInterval(interval) as Duration | CalendarSpan, timeZone("Asia/Tokyo") as TimeZone);
    const endOf = () => expect.fail(interval);
    const [start, end] = [Date.parse("0000-01-01"), Date.parse("9999-12-31")];
    expect(bucketBounds({ ...grid, endOf }, start, end, 1_000)).to.equal(undefined);
  }
});

/** Returns the starts of the buckets that begin among these days. */
function startsOf(days: readonly LocalDay[], bucketOf: (date: number) => number): number[] {
  const begins = days.filter(({ date }, i) => i > 0 && bucketOf(date) !== bucketOf((days[i - 1] as LocalDay).date));
  return begins.map(({ start }) => start);
}
