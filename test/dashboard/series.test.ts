import { expect } from "chai";
import { HOUR } from "../../src/dashboard/duration.js";
import { comparisonOf, newestOf, type Series, type Values } from "../../src/dashboard/fetch-series.js";
import { dayTotals, messagesByStream } from "../../src/dashboard/views/messages-by-stream.js";
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

  it("counts the last day in 24 whole hours, and in the same hours a week before", () => {
    const closed = hourly(
      "all_streams",
      Array.from({ length: 193 }, (_, at) => (at < 24 ? 1 : at < 168 ? 5 : at < 192 ? 2 : 1_000)),
    );
    const window = { ...closed.window, to: OPEN, buckets: closed.window.buckets.slice(0, 192) };
    const totals = (values: Values) =>
      dayTotals({ series: [{ ...closed, window, values }], refused: [] }, OPEN + HOUR / 2);
    const values = closed.values.slice(0, 192);
    expect(totals(values)).to.deep.equal({ day: 48, weekBefore: 24 });
    expect(totals(values.map((value, at) => (at < 24 ? null : value)))).to.deep.equal({
      day: 48,
      weekBefore: undefined,
    });
    expect(dayTotals({ series: [], refused: [] }, OPEN)).to.equal(undefined);
  });
});

describe("the comparison of a series with the window before", () => {
  it("sums messages over complete buckets with a value in both windows", () => {
    expect(comparisonOf(hourly("web", [1, 2, null, 900], [10, null, 30, 40]))).to.deep.equal({ now: 1, before: 10 });
    expect(comparisonOf(hourly("web", [1, 2, 3, 900], [10, 20, 30, 40]))).to.deep.equal({ now: 6, before: 60 });
  });

  it("has other values of the newest complete bucket and of the same bucket before", () => {
    const sized: Series = { ...hourly("x", [1, 2, 3, 900], [10, 20, null, 40]), unit: "members", aggregation: "max" };
    expect(comparisonOf(sized)).to.deep.equal({ now: 2, before: 20 });
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
