import { expect } from "chai";
import fc from "fast-check";
import { experience, HOUR, segment, stream } from "../../../src/metrics/dimensions.js";
import {
  type SeriesStore,
  type SeriesWindow,
  type SettingSource,
  settingSources,
  valueSources,
} from "../../../src/metrics/ports.js";
import type { Series, SlotColumn } from "../../../src/metrics/series.js";
import { onServers } from "../../support/servers.js";
import { temporaryStores } from "../../support/stores.js";
import { hostileIds } from "../hostile-ids.js";
import { type InfluxSeries, influxSeries, writeLines } from "./bucket.js";

onServers(["influxdb"], "series in InfluxDB", () => {
  const from = Date.UTC(2024, 1, 28);
  let engine: InfluxSeries;
  let store: SeriesStore;
  before(async () => {
    engine = await influxSeries();
    store = engine.series;
  });
  after(() => engine.close());

  const size = (id: string): Series => ({ dimension: stream, id, type: "size" });
  const read = async (series: Series, hours = 1, at = from) =>
    [...((await store.read([{ series, from: at, to: at + hours * HOUR }]))[0] ?? [])].map((value) =>
      Number.isNaN(value) ? null : value,
    );

  it("are stored under any id unchanged, and read under that id alone", async () => {
    const one = (id: string, value: number): SlotColumn => ({ series: size(id), from, values: Float64Array.of(value) });
    await store.write(
      "clients",
      hostileIds.map((id, i) => one(id, i)),
    );
    for (const [i, id] of hostileIds.entries()) expect(await read(size(id)), id).to.deep.equal([i]);
    const windows = hostileIds.map((id) => ({ series: size(id), from, to: from + HOUR }));
    const columns = await store.read(windows);
    expect(columns.map(([value]) => value)).to.deep.equal(hostileIds.map((_, i) => i));
    const others = hostileIds.map((id) => ({ series: { ...size(id), dimension: segment }, from, to: from + 2 * HOUR }));
    expect((await store.read(others)).every(([value]) => Number.isNaN(value))).to.equal(true);
  });

  it("equal the slots of the embedded engine after any writes and for any windows", async () => {
    const embedded = await temporaryStores();
    const all: Series[] = [
      ...["a", "b,c", "d e"].map(size),
      ...["size", "actualreach"].map((type) => ({ dimension: experience, id: "random", type })),
      { dimension: segment, id: "random", type: "size" },
    ];
    const series = fc.constantFrom(...all);
    const start = fc.integer({ min: -20, max: 400 });
    const value = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(Number.NaN), fc.integer());
    const column = fc.record({ series, start, values: fc.array(value, { minLength: 1, maxLength: 30 }) });
    const window = fc.record({
      series,
      start,
      length: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constant(30_000)),
    });
    const added = fc.record({
      series,
      start,
      ms: fc.nat(3_599_999),
      ns: fc.constantFrom(0, 1, 999_999),
      source: fc.constantFrom(0, 255, 2 ** 48 - 1),
      value: fc.integer({ min: -1e6, max: 1e6 }).map((number) => number / 4),
    });
    const step = fc.record({
      source: fc.constantFrom(...settingSources),
      columns: fc.array(column, { maxLength: 6 }),
      added: fc.array(added, { maxLength: 20 }),
      windows: fc.array(window, { minLength: 1, maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(step, async ({ source, columns, added, windows }) => {
        const written = columns.map(({ series, start, values }): SlotColumn => {
          return { series, from: from + start * series.dimension.slotMs, values: Float64Array.from(values) };
        });
        const points = added.map(({ series, start, ms, ...point }) => ({
          series,
          points: [{ ...point, ms: from + start * series.dimension.slotMs + ms }],
        }));
        for (const { series: target } of [engine, embedded])
          await Promise.all([target.write(source, written), target.add(points), target.add(points.slice(0, 5))]);
        const asked = windows.map(({ series, start, length }): SeriesWindow => {
          const at = from + start * series.dimension.slotMs;
          return { series, from: at, to: at + length * series.dimension.slotMs };
        });
        for (const only of [undefined, ...valueSources]) {
          const [ours, theirs] = await Promise.all([store.read(asked, only), embedded.series.read(asked, only)]);
          expect(ours).to.deep.equal(theirs);
        }
      }),
      { numRuns: 40 },
    );
  });

  for (const source of settingSources) {
    it(`keep the value of the highest order, and of equal orders the last one, in the source ${source} alone`, async () => {
      const write = (one: SettingSource, value: number, number: number) =>
        store.write(one, [{ series: size(`ordered ${source}`), from, values: Float64Array.of(value, value) }], {
          number,
          abandon: async () => {},
        });
      const values = async (one: SettingSource) => {
        const window = { series: size(`ordered ${source}`), from, to: from + 2 * HOUR };
        return [...((await store.read([window], one))[0] ?? [])];
      };
      for (const one of settingSources) await write(one, 1, 0);
      for (const [number, value, kept] of [
        [7, 2, 2],
        [6, 3, 2],
        [7, 4, 4],
        [567_993_600_000, 5, 5],
        [567_993_599_999, 6, 5],
      ] as const) {
        await write(source, value, number);
        for (const one of settingSources) {
          const expected = one === source ? kept : 1;
          expect(await values(one), `${value} of order ${number}`).to.deep.equal([expected, expected]);
        }
      }
    });
  }

  it("have each added point once, with the value of its highest order", async () => {
    const add = (number: number, ...points: (readonly [ms: number, source: number, value: number])[]) =>
      store.add(
        [
          {
            series: size("sum"),
            points: points.map(([ms, source, value]) => ({ ms: from + ms, ns: 1, source, value })),
          },
        ],
        { number, abandon: async () => {} },
      );
    await add(7, [0, 0, 1], [1, 0, 2], [HOUR, 0, 4]);
    await add(0, [0, 0, 100], [2, 0, 8], [2 * HOUR, 0, 16]);
    await add(9, [1, 0, 32], [0, 1, 64]);
    expect(await read(size("sum"), 4)).to.deep.equal([1 + 32 + 8 + 64, 4, 16, null]);
    await add(7, [1, 0, 5], [HOUR, 0, 3]);
    expect(await read(size("sum"), 4)).to.deep.equal([1 + 32 + 8 + 64, 3, 16, null]);
  });

  it("contain the points of versions that wrote at the start of the slot", async () => {
    const line = (field: string, at: number, tags = "") =>
      `stream,dimension_id=earlier,dimension_type=size${tags} ${field} ${at}`;
    await writeLines(engine.bucket, [
      line("value=1", from),
      line("recorded=2", from + HOUR),
      line("recorded=2", from + 2 * HOUR),
      line("value=3", from + 2 * HOUR),
      line("added=4", from + 3 * HOUR, ",added_by=0"),
      line("added=5", from + 3 * HOUR + 1, ",added_by=0"),
      line("other=7", from + 4 * HOUR),
      line("added_x=7", from + 4 * HOUR),
    ]);
    expect(await read(size("earlier"), 5)).to.deep.equal([1, 2, 3, 9, null]);
  });

  it("are expired by the retention of the bucket alone", async () => {
    await store.write("clients", [{ series: size("kept"), from, values: Float64Array.of(1) }]);
    await store.expire(Date.now());
    expect(await read(size("kept"))).to.deep.equal([1]);
  });
});
