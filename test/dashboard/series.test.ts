import { expect } from "chai";
import { HOUR } from "../../src/dashboard/duration.js";
import {
  comparisonOf,
  newestOf,
  type Series,
  shownCompleteUntil,
  type Values,
} from "../../src/dashboard/fetch-series.js";
import { dayTotals, messagesByStream } from "../../src/dashboard/views/messages-by-stream.js";
import { newestReach } from "../../src/dashboard/views/newest-reach.js";
import { serveDimensions } from "./served-dimensions.js";

const OPEN = Date.UTC(2026, 10, 20, 21);

/** Hourly messages up to the open hour. */
function hourly(id: string, values: Values, before?: Values): Series {
  const from = OPEN - (values.length - 1) * HOUR;
  const buckets = values.map((_, at) => from + at * HOUR);
  return {
    name: `stream.${id}.size`,
    label: id,
    unit: "messages",
    window: { from, to: OPEN + HOUR, interval: "1h", buckets },
    aggregation: "sum",
    values,
    before,
    completeUntil: OPEN,
    nextSaveAt: OPEN + HOUR,
  };
}

describe("the chart of messages by stream", () => {
  before(() => serveDimensions());

  const other = (all: Values, largest: readonly Values[], streams: number) =>
    messagesByStream(
      { series: [hourly("all_streams", all), ...largest.map((values, at) => hourly(`s${at}`, values))], refused: [] },
      largest.map((_, at) => `s${at}`),
      streams,
    ).series.find(({ name }) => name === "stream.other")?.values;

  for (const [title, all, largest, streams, expected] of [
    ["is all streams less the largest", [10, 20], [[4, 5]], 2, [6, 15]],
    ["is never negative", [10, 20], [[11, 5]], 2, [0, 15]],
    ["keeps its zeros while there are other streams", [10, 20], [[10, 20]], 2, [0, 0]],
    ["is absent when every stream is one of the largest", [10, 20], [[10, 20]], 1, undefined],
    ["keeps a gap", [10, null, 20], [[4, null, 5]], 2, [6, null, 15]],
    ["contains what a largest stream does not have", [10, 20], [[null, 5]], 2, [10, 15]],
  ] as [string, Values, Values[], number, Values | undefined][]) {
    it(`has a series of other streams that ${title}`, () => {
      expect(other(all, largest, streams)).to.deep.equal(expected);
    });
  }

  it("has only the sum over all streams if the list has no stream", () => {
    const { series } = messagesByStream({ series: [hourly("all_streams", [1, 2])], refused: [] }, [], 0);
    expect(series.map(({ label, values }) => ({ label, values }))).to.deep.equal([
      { label: "all streams", values: [1, 2] },
    ]);
  });

  it("has the messages of the last 24 whole hours, compared with the same hours a week before", () => {
    const from = OPEN - 14 * 24 * HOUR;
    const buckets = Array.from({ length: 14 * 24 }, (_, at) => from + at * HOUR);
    const window = { from, to: OPEN, interval: "1h", buckets };
    const totals = (value: (hour: number) => number | null) => {
      const values = buckets.map((_, at) => value(at - 6 * 24));
      return dayTotals({ series: [{ ...hourly("all_streams", values), window }], refused: [] }, OPEN + HOUR / 2);
    };
    const messages = (hour: number) => (hour < 24 ? 1 : hour < 168 ? 5 : 2);
    for (const [title, value, compared] of [
      ["with data of all hours", messages, { now: 48, before: 24 }],
      ["with data since an hour of that day", (hour) => (hour < 6 ? null : messages(hour)), { now: 36, before: 18 }],
      ["with a pause in that day", (hour) => (hour >= 0 && hour < 6 ? null : messages(hour)), { now: 48, before: 18 }],
      ["with data since a later day", (hour) => (hour < 24 ? null : messages(hour)), undefined],
    ] as [string, (hour: number) => number | null, { now: number; before: number } | undefined][])
      expect(totals(value), title).to.deep.equal({ day: 48, compared });
    expect(dayTotals({ series: [], refused: [] }, OPEN)).to.equal(undefined);
  });
});

describe("the comparison of a series with the window before", () => {
  it("sums messages of complete buckets since the first that is compared", () => {
    const compared = (comparedFrom: number, values: Values = [1, 2, 3, 900]) =>
      comparisonOf({ ...hourly("web", values, [10, null, 30, 40]), comparedFrom });
    expect(compared(0)).to.deep.equal({ now: 6, before: 40, at: 0 });
    expect(compared(0, [1, 2, null, 900])).to.deep.equal({ now: 3, before: 40, at: 0 });
    expect(compared(2)).to.deep.equal({ now: 3, before: 30, at: 2 });
    expect(compared(3)).to.equal(undefined);
  });

  it("has other values of the newest complete bucket and of the same bucket before", () => {
    const sized: Series = { ...hourly("x", [1, 2, 3, 900], [10, 20, null, 40]), unit: "members", aggregation: "max" };
    expect(comparisonOf(sized)).to.deep.equal({ now: 2, before: 20, at: 1 });
  });

  it("is absent without a value in the window before", () => {
    expect(comparisonOf(hourly("web", [1, 2], [null, null]))).to.equal(undefined);
    expect(comparisonOf(hourly("web", [1, 2]))).to.equal(undefined);
  });

  it("is independent of the newest saved value, which may be of the open bucket", () => {
    expect(newestOf(hourly("web", [1, 2, null]))).to.equal(2);
    expect(newestOf(hourly("web", [1, 0]))).to.equal(0);
    expect(newestOf(undefined)).to.equal(null);
  });
});

describe("the time until which the page calls values complete", () => {
  before(() => serveDimensions());

  for (const [title, name, completeUntil, shown] of [
    ["is the start of the open slot of samples", "segment.x.size", OPEN + HOUR, OPEN - HOUR],
    ["is the start of the open slot of counts", "stream.x.size", OPEN, OPEN],
    ["is the end of the last saved slot of samples that are late", "segment.x.size", OPEN - HOUR, OPEN - HOUR],
  ] as const)
    it(title, () => {
      expect(shownCompleteUntil({ ...hourly("x", [1]), name, completeUntil }, OPEN + HOUR / 2)).to.equal(shown);
    });
});

describe("the newest reach", () => {
  const reach = (potential: Values, actual: Values) => {
    const named = (type: string, values: Values) => ({ ...hourly("x", values), name: `experience.x.${type}` });
    return newestReach({ series: [named("potentialreach", potential), named("actualreach", actual)], refused: [] });
  };

  it("is of one slot", () => {
    expect(reach([10, 20, null], [1, 5, null])).to.include({ at: OPEN - HOUR, potential: 20, actual: 5, rate: 0.25 });
    expect(reach([10, 20], [5, null])).to.include({ potential: 20, actual: 0, rate: 0 });
  });

  it("has an actual reach and a rate of 0 where no actual reach is saved", () => {
    expect(reach([20], [null])).to.include({ actual: 0, rate: 0 });
    expect(reach([0], [null])).to.include({ potential: 0, actual: 0, rate: 0 });
    expect(reach([null], [null])).to.equal(undefined);
  });
});
