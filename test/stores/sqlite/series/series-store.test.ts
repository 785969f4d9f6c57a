import { expect } from "chai";
import { CacheMemory } from "../../../../src/cache-memory.js";
import { stream } from "../../../../src/metrics/dimensions.js";
import { lockSource } from "../../../../src/stores/sqlite/export.js";
import { metricsFile } from "../../../../src/stores/sqlite/layout.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { sqliteSeriesStore } from "../../../../src/stores/sqlite/series/series-store.js";
import { seriesStoreContract } from "../../../contracts/series-store.contract.js";
import { dataFolder } from "../../../support/data-folder.js";
import { temporaryStores } from "../../../support/stores.js";

seriesStoreContract("embedded", temporaryStores);

describe("series on the embedded engine", () => {
  it("writes all columns of a call or none", async () => {
    const { series: store } = await temporaryStores();
    const from = Date.UTC(2024, 0, 1);
    const good = { dimension: stream, id: "good", type: "size" };
    const bad = { dimension: stream, id: undefined as unknown as string, type: "size" };
    const columns = [good, bad].map((series) => ({ series, from, values: Float64Array.of(1) }));
    const failure = await store.write("clients", columns).then(
      () => "none",
      () => "some",
    );
    expect(failure).to.equal("some");
    const read = async () => [...((await store.read([{ series: good, from, to: from + stream.slotMs }]))[0] ?? [])];
    expect(await read()).to.deep.equal([Number.NaN]);
    await store.write("clients", columns.slice(0, 1));
    expect(await read()).to.deep.equal([1]);
  });

  it("keeps its numbers, lists and sums of series within the memory of the caches", async () => {
    const dir = dataFolder();
    const db = openDatabase(dir, metricsFile);
    const cache = new CacheMemory(20_000);
    const store = sqliteSeriesStore(db, { cache });
    const from = Date.UTC(2026, 0, 1);
    const series = Array.from({ length: 200 }, (_, i) => ({ dimension: stream, id: `web ${i}`, type: "size" }));
    const windows = series.map((one) => ({ series: one, from, to: from + stream.slotMs }));
    try {
      for (const time of [0, 1]) {
        await store.write(
          "clients",
          series.map((one) => ({ series: one, from, values: Float64Array.of(time) })),
        );
        await store.add(series.map((one) => ({ series: one, points: [{ ms: from, ns: time, source: 0, value: 1 }] })));
        await store.fold();
        expect(await store.count(stream, { prefix: "" })).to.equal(200);
        expect(cache.bytes).to.be.within(10_000, 20_000);
        for (const [source, value] of [
          ["clients", time],
          ["added", time + 1],
        ] as const) {
          const columns = await store.read(windows, source);
          expect(columns.map(([slot]) => slot)).to.deep.equal(series.map(() => value));
        }
      }
    } finally {
      await store.close();
      db.close();
    }
  });

  it("keeps the part of a sum that a double lacks, however small it is, when it is opened again", async () => {
    const dir = dataFolder();
    const series = { dimension: stream, id: "web", type: "size" };
    const from = Date.UTC(2026, 0, 1);
    const sums = [];
    for (const [ms, value] of [1, 1e-17, -1].entries()) {
      const db = openDatabase(dir, metricsFile);
      const store = sqliteSeriesStore(db);
      await store.add([{ series, points: [{ ms: from + ms, ns: 0, source: 0, value }] }]);
      sums.push(...((await store.read([{ series, from, to: from + stream.slotMs }]))[0] ?? []));
      await store.close();
      db.close();
    }
    expect(sums).to.deep.equal([1, 1, 1e-17]);
  });

  it("has added points to copy one by one only from the oldest of them on", async () => {
    const dir = dataFolder();
    const series = { dimension: stream, id: "web", type: "size" };
    const now = Date.UTC(2026, 0, 1);
    const openFrom = async (ms: readonly number[]) => {
      const db = openDatabase(dir, metricsFile);
      const store = sqliteSeriesStore(db);
      await store.write("clients", [{ series, from: now - 3 * 365 * 86_400_000, values: Float64Array.of(1) }]);
      await store.add([{ series, points: ms.map((at) => ({ ms: at, ns: 0, source: 0, value: 1 })) }]);
      await store.close();
      db.close();
      const source = lockSource(dir);
      try {
        return (await source.series()).settled;
      } finally {
        await source.close();
      }
    };
    expect(await openFrom([])).to.equal(Number.POSITIVE_INFINITY);
    expect(await openFrom([now, now + 1])).to.be.within(now - 2 * stream.slotMs, now);
  });
});
