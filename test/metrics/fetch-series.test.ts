import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { ServiceError } from "../../src/errors.js";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SeriesStore } from "../../src/metrics/ports.js";
import type { RequestedSeries } from "../../src/metrics/query/request.js";
import { HeldCalls } from "../support/held-calls.js";
import { until } from "../support/until.js";
import { openMetricReader, type ReaderOptions, valuesOf } from "./metric-reader.js";

const now = Date.parse("2024-02-29T10:30:00Z");
const views = { dimension: stream, id: "views", type: "size" };
const asked: RequestedSeries = { dimension: "stream", id: "views", type: "size", interval: "1h", range: "3h" };

describe("a query of series", () => {
  const openReader = async (options?: ReaderOptions) => {
    const reader = await openMetricReader(options);
    await reader.save(views, now - 1.5 * HOUR, 5);
    return reader;
  };

  it("reads the store once for 1,000 identical polls on a cold cache, and not at all for the next (P17)", async () => {
    const reader = await openReader({ between: slow });
    const polls = () => Promise.all(Array.from({ length: 1_000 }, () => reader.fetch([asked], now)));
    const cold = await polls();
    expect(reader.reads()).to.equal(1);
    expect(cold.every(([series]) => series?.isCached === false)).to.equal(true);
    const warm = await polls();
    expect(reader.reads()).to.equal(1);
    expect(warm.every(([series]) => series?.isCached)).to.equal(true);
    const jsons = new Set([...cold, ...warm].map(([series]) => series?.json.toString()));
    expect([...jsons]).to.deep.equal([`[{"value":5,"ts":"${now - 1.5 * HOUR}"}]`]);
  });

  it("reads the store once for a whole batch, and only what is missing of it", async () => {
    const reader = await openReader();
    for (const id of ["a", "b"]) await reader.save({ ...views, id }, now - 1.5 * HOUR, 5);
    await reader.fetch([asked], now);
    const batch = ["views", "a", "b", "views"].map((id) => ({ ...asked, id }));
    const answers = await reader.fetch(batch, now);
    expect(reader.reads()).to.equal(2);
    expect(answers.map(({ isCached }) => isCached)).to.deep.equal([true, false, false, true]);
  });

  it("with other buckets of cached slots reads no store", async () => {
    const reader = await openReader();
    await reader.fetch([asked], now);
    const [answer] = await reader.fetch([{ ...asked, interval: "2h", smooth: true, aggregation: "min" }], now);
    expect(answer?.isCached).to.equal(true);
    expect(reader.reads()).to.equal(1);
  });

  it("reads whole chunks of the store and no other slot, and again only the chunk that was written", async () => {
    const day = 24 * HOUR;
    const read: [from: number, to: number][] = [];
    const between = (store: SeriesStore): SeriesStore => ({
      ...store,
      chunkSlots: 24,
      read: (windows) => {
        read.push(...windows.map(({ from, to }): [number, number] => [from / day, to / day]));
        return store.read(windows);
      },
    });
    const reader = await openReader({ between });
    const week = () => reader.fetch([{ ...asked, range: "7d" }], now);
    const today = Math.floor(now / day);
    await week();
    expect(read).to.deep.equal([[today - 7, today + 1]]);
    await reader.save(views, now - 30.5 * HOUR, 7);
    const [answer] = await week();
    expect(read.slice(1)).to.deep.equal([[today - 1, today]]);
    expect(answer && valuesOf(answer).map(({ value }) => value)).to.deep.equal([7, 5]);
  });

  it("of an empty window is reported as cached, as no store is read", async () => {
    const reader = await openReader();
    const [answer] = await reader.fetch([{ ...asked, range: undefined, start: "now", end: "now" }], now);
    expect(answer?.isCached).to.equal(true);
    expect(reader.reads()).to.equal(0);
  });

  for (const { what, fail } of [
    { what: "rejects", fail: () => Promise.reject(new Error("away")) },
    {
      what: "throws",
      fail: () => {
        throw new Error("away");
      },
    },
    { what: "returns a column that is too short", fail: async () => [new Float64Array(3)] },
    { what: "returns no column", fail: async () => [] },
    { what: "never responds", fail: () => new Promise<Float64Array[]>(() => {}) },
  ]) {
    it(`is rejected as unavailable for all its callers if the store ${what}, and correct again afterwards (P19)`, async () => {
      let broken = true;
      const between = (store: SeriesStore): SeriesStore => ({
        ...store,
        read: (windows) => (broken ? fail() : store.read(windows)),
      });
      const reader = await openReader({ between, deadlineMs: 50 });
      const polls = await Promise.allSettled(Array.from({ length: 100 }, () => reader.fetch([asked], now)));
      const kinds = new Set(polls.map((poll) => (poll.status === "rejected" ? kindOf(poll.reason) : "answered")));
      expect([...kinds]).to.deep.equal(["unavailable"]);
      expect(reader.reads()).to.equal(1);
      broken = false;
      const [answer] = await reader.fetch([asked], now);
      expect(answer && valuesOf(answer)).to.deep.equal([{ value: 5, ts: String(now - 1.5 * HOUR) }]);
      expect(answer?.isCached).to.equal(false);
    });
  }

  it("handles the errors of all of its reads, also after one has failed, so that none ends the process", async () => {
    const fail: ((error: Error) => void)[] = [];
    const between = (store: SeriesStore): SeriesStore => ({
      ...store,
      read: () => new Promise((_, reject) => fail.push(reject)),
    });
    const reader = await openReader({ between });
    await reader.save({ ...views, id: "other" }, now - 1.5 * HOUR, 5);
    const first = reader.fetch([asked], now).catch(kindOf);
    // It waits for the first read, and begins one of its own.
    const both = reader.fetch([asked, { ...asked, id: "other" }], now).catch(kindOf);
    await until("both reads are under way", () => fail.length === 2);
    for (const reject of fail) {
      reject(new Error("away"));
      // An error that is not handled by now fails this test.
      await setImmediate();
    }
    expect([await first, await both]).to.deep.equal(["unavailable", "unavailable"]);
  });

  it("caches data that was read during a write only until the write ends", async () => {
    const writes = new HeldCalls();
    const reader = await openReader({
      between: (store) => ({ ...store, write: (...all) => writes.around(() => store.write(...all), "write") }),
    });
    const valuesNow = async () => (await reader.fetch([asked], now)).flatMap(valuesOf).map(({ value }) => value);
    const reached = writes.hold();
    const written = reader.save(views, now - 1.5 * HOUR, 6);
    await reached;
    expect(await valuesNow()).to.deep.equal([5]);
    writes.release();
    await written;
    expect(await valuesNow()).to.deep.equal([6]);
  });
});

function slow(store: SeriesStore): SeriesStore {
  return {
    ...store,
    async read(windows) {
      await setImmediate();
      const columns = await store.read(windows);
      await setImmediate();
      return columns;
    },
  };
}

function kindOf(error: unknown): string {
  return error instanceof ServiceError ? error.kind : String(error);
}
