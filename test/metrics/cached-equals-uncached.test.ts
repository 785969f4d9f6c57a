import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import fc from "fast-check";
import { HOUR, stream } from "../../src/metrics/dimensions.js";
import type { SeriesStore } from "../../src/metrics/ports.js";
import type { RequestedSeries } from "../../src/metrics/query/request.js";
import type { Series } from "../../src/metrics/series.js";
import { cacheSizes, compareHistory } from "./cache-history.js";
import { openMetricReader, valuesOf } from "./metric-reader.js";

const begin = Date.parse("2024-03-01T00:00:00Z");

const STEPS = 1_250;

describe("the caches of series", function () {
  this.timeout(60_000);

  for (const { what, ...options } of cacheSizes) {
    it(`result in the responses of the stores over ${STEPS} steps of a random history with ${what} (P18)`, () =>
      compareHistory(options, STEPS));
  }

  it("never contain data older than a write that was acknowledged before a query, under concurrent load (P18)", async () => {
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
      async write(source, columns) {
        await dawdle();
        await store.write(source, columns);
        await dawdle();
      },
    });
    const reader = await openMetricReader({ between: slow });
    const a: Series = { dimension: stream, id: "a", type: "size" };
    const asked: RequestedSeries = { dimension: "stream", id: "a", type: "size", interval: "1h", range: "6h" };
    const now = begin + 30 * 60_000;
    const writes: { slot: number; value: number; began: number; ended: number }[] = [];
    let time = 0;

    /** Values that a query may read: each write not certainly replaced before it, or none if none had ended. */
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
    for (let round = 0; round < 700; round += 1) {
      const count = 1 + draw(8);
      await Promise.all(
        Array.from({ length: count }, async (_, i) => {
          await dawdle();
          await (draw(3) === 0 ? doWrite(round * 10 + i) : doQuery());
        }),
      );
    }
  });
});
