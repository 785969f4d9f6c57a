import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import { freshness, isSaved } from "../../src/metrics/query/freshness.js";
import { seriesPlan } from "../../src/metrics/query/plan.js";
import { type RequestedSeries, seriesRequest } from "../../src/metrics/query/request.js";

const ten = Date.parse("2024-02-29T10:00:00Z");
const SECOND = 1000;

describe("the freshness of values:", () => {
  for (const { what, dimension, at, saved, window = { range: "6h" }, completeUntil, nextSaveAt, freshUntil } of [
    {
      what: "a count is complete when its slot is saved",
      dimension: "stream",
      at: 30 * SECOND,
      saved: [-HOUR],
      completeUntil: 0,
      nextSaveAt: HOUR,
      freshUntil: HOUR,
    },
    {
      what: "a count that is due and not saved is requested again soon",
      dimension: "stream",
      at: 30 * SECOND,
      saved: [],
      completeUntil: -HOUR,
      nextSaveAt: 35 * SECOND,
      freshUntil: 30 * SECOND,
    },
    {
      what: "a count that is not saved within a minute is not waited for",
      dimension: "stream",
      at: 60 * SECOND,
      saved: [],
      completeUntil: 0,
      nextSaveAt: HOUR,
      freshUntil: HOUR,
    },
    {
      what: "a count of the current slot completes no earlier slot",
      dimension: "stream",
      at: 60 * SECOND - 1,
      saved: [0],
      completeUntil: -HOUR,
      nextSaveAt: 65 * SECOND - 1,
      freshUntil: 60 * SECOND - 1,
    },
    {
      what: "a size is complete for its slot once it is sampled",
      dimension: "segment",
      at: 30 * SECOND,
      saved: [0],
      completeUntil: 2 * HOUR,
      nextSaveAt: 2 * HOUR,
      freshUntil: 2 * HOUR,
    },
    {
      what: "a size that is due and not sampled is requested again soon",
      dimension: "segment",
      at: 0,
      saved: [-2 * HOUR],
      completeUntil: 0,
      nextSaveAt: 5 * SECOND,
      freshUntil: 0,
    },
    {
      what: "a size that is not sampled for long is requested again every 5 s of its slot",
      dimension: "segsize",
      at: 30 * 60 * SECOND + 1,
      saved: [],
      completeUntil: 0,
      nextSaveAt: 1_805 * SECOND,
      freshUntil: 1_805 * SECOND,
    },
    {
      what: "a size of the past is not waited for",
      dimension: "segment",
      at: 30 * 60 * SECOND,
      saved: [],
      window: { start: "2024-02-01", end: "2024-02-02" },
      completeUntil: 0,
      nextSaveAt: 2 * HOUR,
      freshUntil: 2 * HOUR,
    },
    {
      what: "a window of the past does not change before the next slot",
      dimension: "stream",
      at: SECOND,
      saved: [],
      window: { start: "2024-02-01", end: "2024-02-02" },
      completeUntil: -HOUR,
      nextSaveAt: HOUR,
      freshUntil: 60 * SECOND,
    },
  ] satisfies (Record<string, unknown> & { window?: RequestedSeries })[]) {
    it(what, () => {
      const now = ten + at;
      const plan = seriesPlan(seriesRequest({ dimension, id: "a", type: "size", ...window }, now), now);
      const { slotMs } = plan.request.dimension;
      const values = new Float64Array((plan.to - plan.readFrom) / slotMs).fill(Number.NaN);
      for (const offset of saved) values[(ten + offset - plan.readFrom) / slotMs] = 1;
      const savedNow = isSaved(plan, [{ from: plan.readFrom, values }], now);
      expect(freshness(plan, savedNow, now, undefined)).to.deep.equal({
        completeUntil: ten + completeUntil,
        nextSaveAt: ten + nextSaveAt,
        freshUntil: ten + freshUntil,
      });
    });
  }

  const AT = ten + 31 * 60 * SECOND;
  const fixed = { start: "2024-02-28", end: "2024-03-01" };
  for (const { what, window, interval = "1h", fillEmpty = false, retention, until } of [
    { what: "a window counted back from now: until its next slot", window: { range: "6h" }, until: HOUR },
    {
      what: "buckets of 15 minutes: until the next bucket",
      window: { range: "6h" },
      interval: "15m",
      until: 0.75 * HOUR,
    },
    { what: "a start that leaves its bucket: until then", window: { range: "340m" }, until: (2 * HOUR) / 3 },
    { what: "a fixed window: until the next slot is due", window: fixed, until: HOUR },
    { what: "a fixed window with empty rows to come: not at all", window: fixed, fillEmpty: true, until: -1 },
    { what: "a fixed start with an end at now: not at all", window: { start: "2024-02-28" }, until: -1 },
    { what: "a relative end: not at all", window: { end: "now-1h" }, until: -1 },
    {
      what: "a window whose first slot expires: until then",
      window: fixed,
      retention: 34.75 * HOUR,
      until: 0.75 * HOUR,
    },
  ] as const) {
    it(what, () => {
      const asked = { dimension: "stream", id: "a", type: "size", interval, fillEmpty, ...window };
      const plan = seriesPlan(seriesRequest(asked, AT), AT, retention);
      const { freshUntil } = freshness(plan, true, AT, retention);
      expect(freshUntil > AT ? freshUntil - ten : -1).to.equal(until);
    });
  }

  for (const { what, at, range, timezone, until } of [
    { what: "until the next slot", at: "2024-03-30T10:20Z", range: "1mo", timezone: "Asia/Kolkata", until: "11:00" },
    // Both the 30th and the 31st of March are a month after February 29.
    { what: "until midnight", at: "2024-03-30T18:20Z", range: "1mo", timezone: "Asia/Kolkata", until: "18:30" },
    // Clocks are set forward by half an hour.
    {
      what: "until a clock changes",
      at: "2024-10-05T15:20Z",
      range: "1mo",
      timezone: "Australia/Lord_Howe",
      until: "15:30",
    },
    {
      what: "not at all at a time that was left out",
      at: "2024-05-31T00:20Z",
      range: "2mo",
      timezone: "Europe/Berlin",
    },
  ]) {
    it(`a window of months in a zone: ${what}`, () => {
      const now = Date.parse(at);
      const asked = { dimension: "stream", id: "a", type: "size", interval: "1h", range, timezone };
      const { freshUntil } = freshness(seriesPlan(seriesRequest(asked, now), now), true, now, undefined);
      const time = new Date(freshUntil).toISOString().slice(11, 16);
      expect(freshUntil > now ? time : undefined).to.equal(until);
    });
  }
});
