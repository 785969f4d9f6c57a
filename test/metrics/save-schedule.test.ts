import { expect } from "chai";
import { HOUR } from "../../src/metrics/dimensions.js";
import { saveSchedule, seriesPlan } from "../../src/metrics/query/series-plan.js";
import { type AskedSeries, seriesRequest } from "../../src/metrics/query/series-request.js";

const ten = Date.parse("2024-02-29T10:00:00Z");
const SECOND = 1000;

describe("the schedule of saves", () => {
  for (const { what, dimension, at, saved, window = { range: "6h" }, completeUntil, nextSaveAt, scheduledUntil } of [
    {
      what: "a count is complete when its slot is saved",
      dimension: "stream",
      at: 30 * SECOND,
      saved: [-HOUR],
      completeUntil: 0,
      nextSaveAt: HOUR,
      scheduledUntil: HOUR,
    },
    {
      what: "a count that is due and not saved is asked for again soon",
      dimension: "stream",
      at: 30 * SECOND,
      saved: [],
      completeUntil: -HOUR,
      nextSaveAt: 35 * SECOND,
      scheduledUntil: 30 * SECOND,
    },
    {
      what: "a count that did not come within a minute is not waited for",
      dimension: "stream",
      at: 60 * SECOND,
      saved: [],
      completeUntil: 0,
      nextSaveAt: HOUR,
      scheduledUntil: HOUR,
    },
    {
      what: "a count of the slot under way says nothing",
      dimension: "stream",
      at: 60 * SECOND - 1,
      saved: [0],
      completeUntil: -HOUR,
      nextSaveAt: 65 * SECOND - 1,
      scheduledUntil: 60 * SECOND - 1,
    },
    {
      what: "a size is complete for its slot once it is taken",
      dimension: "segment",
      at: 30 * SECOND,
      saved: [0],
      completeUntil: 2 * HOUR,
      nextSaveAt: 2 * HOUR,
      scheduledUntil: 2 * HOUR,
    },
    {
      what: "a size that is due and not taken is asked for again soon",
      dimension: "segment",
      at: 0,
      saved: [-2 * HOUR],
      completeUntil: 0,
      nextSaveAt: 5 * SECOND,
      scheduledUntil: 0,
    },
    {
      what: "a size not taken for long can still come",
      dimension: "segsize",
      at: 30 * 60 * SECOND,
      saved: [],
      completeUntil: 0,
      nextSaveAt: 2 * HOUR,
      scheduledUntil: 2 * HOUR,
    },
    {
      what: "a window of the past shows nothing new before the next slot",
      dimension: "stream",
      at: SECOND,
      saved: [],
      window: { start: "2024-02-01", end: "2024-02-02" },
      completeUntil: -HOUR,
      nextSaveAt: HOUR,
      scheduledUntil: 60 * SECOND,
    },
  ] satisfies (Record<string, unknown> & { window?: AskedSeries })[]) {
    it(what, () => {
      const now = ten + at;
      const plan = seriesPlan(seriesRequest({ dimension, id: "a", type: "size", ...window }, now), now);
      const schedule = saveSchedule(
        plan,
        saved.map((offset) => ten + offset),
        now,
      );
      expect(schedule).to.deep.equal({
        completeUntil: ten + completeUntil,
        nextSaveAt: ten + nextSaveAt,
        scheduledUntil: ten + scheduledUntil,
      });
    });
  }
});
