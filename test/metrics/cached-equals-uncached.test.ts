import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { HOUR } from "../../src/metrics/dimensions/dimension.js";
import { experience } from "../../src/metrics/dimensions/experience.js";
import { segment } from "../../src/metrics/dimensions/segment.js";
import { stream } from "../../src/metrics/dimensions/stream.js";
import { fetchSeries } from "../../src/metrics/fetch-series.js";
import type { Series } from "../../src/metrics/series.js";
import { seriesPlan } from "../../src/metrics/series-plan.js";
import { type AskedSeries, seriesRequest } from "../../src/metrics/series-request.js";
import type { SeriesStore } from "../../src/metrics/series-store.js";
import { largeCaches, noCaches, openMetricReader, valuesOf } from "../support/metric-reader.js";

const begin = Date.parse("2024-03-01T00:00:00Z");

const series: Series[] = [
  { dimension: stream, id: "a", type: "size" },
  { dimension: stream, id: "b", type: "size" },
  { dimension: segment, id: "a", type: "size" },
  { dimension: experience, id: "a", type: "actualreach" },
  { dimension: experience, id: "a", type: "potentialreach" },
];

const write = fc.record({
  kind: fc.constant("write" as const),
  columns: fc.array(
    fc.record({
      series: fc.constantFrom(...series),
      hoursAgo: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 1_200 })),
      values: fc.array(fc.oneof(fc.integer({ min: -9, max: 99 }), fc.constant(Number.NaN)), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
const query = fc.record({
  kind: fc.constant("query" as const),
  asked: fc
    .record({
      names: fc.constantFrom(
        { dimension: "stream", id: "a", type: "size" },
        { dimension: "stream", id: "b", type: "size" },
        { dimension: "segsize", id: "a", type: "size" },
        { dimension: "experience", id: "a", type: "conversionrate" },
        { dimension: "experience", id: "a", type: "actualreach" },
      ),
      interval: fc.constantFrom("1h", "2h", "1d", "15m"),
      range: fc.constantFrom("4h", "4h", "2d", "5w"),
      smooth: fc.boolean(),
      fillEmpty: fc.boolean(),
    })
    .map(({ names, ...rest }): AskedSeries => ({ ...names, ...rest })),
});
const wait = fc.record({ kind: fc.constant("wait" as const), minutes: fc.integer({ min: 0, max: 90 }) });
const step = fc.oneof({ weight: 3, arbitrary: write }, { weight: 6, arbitrary: query }, { weight: 1, arbitrary: wait });

describe("what is cached", function () {
  this.timeout(60_000);

  for (const { what, cache, seed } of [
    { what: "large caches", cache: largeCaches, seed: 1 },
    { what: "caches that hold hardly anything", cache: { columns_bytes: 9_000, answers_bytes: 9_000 }, seed: 2 },
    { what: "a cache of answers alone", cache: { ...largeCaches, columns_bytes: 1 }, seed: 3 },
    { what: "a cache of columns alone", cache: { ...largeCaches, answers_bytes: 1 }, seed: 4 },
  ]) {
    it(`equals what is not, over 2,000 steps of a random history with ${what} (P18)`, async () => {
      const reader = await openMetricReader({ cache });
      const { series: store, changes } = reader.stores;
      const plain = fetchSeries({ store, changes, cache: noCaches, deadlineMs: 5_000 });
      let now = begin;
      let cached = 0;
      try {
        for (const action of fc.sample(step, { numRuns: 2_000, seed })) {
          if (action.kind === "wait") now += action.minutes * 60_000;
          if (action.kind === "write") {
            await reader.write(
              action.columns.map(({ series, hoursAgo, values }) => {
                const from = Math.floor((now - hoursAgo * HOUR) / series.dimension.slotMs) * series.dimension.slotMs;
                return { series, from, values: Float64Array.from(values) };
              }),
            );
          }
          if (action.kind === "query") {
            const reads = reader.reads();
            const [answer] = await reader.fetch([action.asked], now);
            const [truth] = await plain([seriesPlan(seriesRequest(action.asked, now), now)], now);
            if (answer === undefined || truth === undefined) throw new Error("no answer");
            expect(valuesOf(answer)).to.deep.equal(valuesOf(truth));
            expect([answer.completeUntil, answer.nextSaveAt]).to.deep.equal([truth.completeUntil, truth.nextSaveAt]);
            expect(answer.isCached).to.equal(reader.reads() === reads);
            if (answer.isCached) cached += 1;
          }
        }
        expect(cached).to.be.greaterThan(10);
      } finally {
        await reader.close();
      }
    });
  }

  it("never is older than a write that was acknowledged before the query, with queries and writes all at once (P18)", async () => {
    const random = fc.sample(fc.nat(1_000_000), { numRuns: 20_000, seed: 5 });
    let drawn = 0;
    const draw = (limit: number) => (random[drawn++ % random.length] as number) % limit;
    const dawdle = async () => {
      for (let n = draw(4); n > 0; n -= 1) await setImmediate();
    };
    const slow = (store: SeriesStore): SeriesStore => ({
      ...store,
      async read(windows) {
        await dawdle();
        const columns = await store.read(windows);
        await dawdle();
        return columns;
      },
      async write(columns) {
        await dawdle();
        await store.write(columns);
        await dawdle();
      },
    });
    const reader = await openMetricReader({ between: slow });
    const a: Series = { dimension: stream, id: "a", type: "size" };
    const asked: AskedSeries = { dimension: "stream", id: "a", type: "size", interval: "1h", range: "6h" };
    const now = begin + 30 * 60_000;
    const writes: { slot: number; value: number; began: number; ended: number }[] = [];
    let time = 0;

    /** What a slot may hold for a query: each write not certainly replaced before it began, nothing if none had ended. */
    const allowed = (slot: number, asked: number, answered: number) => {
      const seen = writes.filter((write) => write.slot === slot && write.began < answered);
      const possible = seen.filter((write) => !seen.some((later) => later.began > write.ended && later.ended < asked));
      const none = seen.some((write) => write.ended < asked) ? [] : [undefined];
      return [...possible.map(({ value }) => value), ...none];
    };
    const doWrite = async (value: number) => {
      const write = { slot: begin - draw(4) * HOUR, value, began: ++time, ended: Number.POSITIVE_INFINITY };
      writes.push(write);
      await reader.save(a, write.slot, value);
      write.ended = ++time;
    };
    const doQuery = async () => {
      const asking = ++time;
      const [answer] = await reader.fetch([asked], now);
      const answered = ++time;
      const values = new Map(answer && valuesOf(answer).map(({ value, ts }) => [Number(ts), value]));
      for (let hours = 0; hours < 4; hours += 1) {
        const slot = begin - hours * HOUR;
        expect(allowed(slot, asking, answered)).to.include(values.get(slot));
      }
    };
    try {
      for (let round = 0; round < 700; round += 1) {
        const count = 1 + draw(8);
        await Promise.all(
          Array.from({ length: count }, async (_, i) => {
            await dawdle();
            await (draw(3) === 0 ? doWrite(round * 10 + i) : doQuery());
          }),
        );
      }
    } finally {
      await reader.close();
    }
  });
});
