import { expect } from "chai";
import fc from "fast-check";
import { CacheMemory } from "../../src/cache-memory.js";
import { cacheHead, pointReaders } from "../../src/http/points/point-reader.js";
import { readPointsFastPath } from "../../src/http/points/points-fast-path.js";
import { stream } from "../../src/metrics/dimensions.js";
import { KnownSeries } from "../../src/metrics/series.js";
import { PointFold } from "../../src/metrics/slot-columns.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { settingsFor } from "../support/service.js";

const readers = pointReaders(settingsFor("unused").limits, new CacheMemory(1_000_000));

/** Returns the point between two others of an array; undefined if they are left to JSON. */
async function read(text: string, before = "[", after = "]") {
  const other = (value: number) =>
    `{"dimension":"stream","dimension_id":"other","dimension_type":"size","ts":${value},"value":1}`;
  const bytes = Buffer.from(`${before}${other(1)},${text},${other(2)}${after}`);
  const window = { from: -Number.MAX_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER, endAfter: -Number.MAX_SAFE_INTEGER };
  const reader = readers({ newSink: () => new PointFold(), window, hasSources: false });
  const count = await readPointsFastPath(bytes, reader, 3);
  const [column] = count === undefined ? [] : reader.sink.columns().filter(({ series }) => series.id !== "other");
  return column && { id: column.series.id, from: column.from, value: column.values[0] };
}

const names = '"dimension":"stream","dimension_id":"orders","dimension_type":"size"';

describe("a point read from its bytes", () => {
  it("has the names and the numbers that JSON has, or is left to it", async () => {
    const number = fc.oneof(
      fc.integer().map(String),
      fc.tuple(fc.integer(), fc.nat(999_999)).map(([whole, decimals]) => `${whole}.${decimals}`),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom("-0", "0.10", "01", "1.", ".5", "-", "1e3", "null", '"1"', "123456789012345", "1234567890123456"),
    );
    const blank = fc.constantFrom("", "", " ", "\n");
    const id = fc
      .oneof(fc.string({ minLength: 1 }), fc.constantFrom("orders", 'a"b', "a,b", "ü", "a\\b"))
      .map((text) => JSON.stringify(text));
    const point = fc.tuple(id, number, number, blank, fc.boolean()).map(([id, value, ts, blank, isTsFirst]) => {
      const numbers = [`"ts":${blank}${ts}`, `"value":${value}`];
      if (!isTsFirst) numbers.reverse();
      return `{"dimension":"stream",${blank}"dimension_id":${id},"dimension_type":"size",${blank}${numbers.join(",")}${blank}}`;
    });
    let usual = 0;
    await fc.assert(
      fc.asyncProperty(point, async (text) => {
        const found = await read(text);
        if (found === undefined) return;
        usual += 1;
        const { dimension_id, value, ts } = JSON.parse(text);
        const from = Math.floor(ts / stream.slotMs) * stream.slotMs;
        expect(found).to.deep.equal({ id: dimension_id, from, value });
      }),
      { numRuns: 3_000 },
    );
    expect(usual).to.be.above(200);
  });

  for (const text of [
    `{${names},"ts":1.5,"value":1}`,
    `{${names},"ts":1,"ts":2}`,
    `{${names},"ts":1,"value":2,"ts":1,"value":2}`,
    `{${names},"unit":"x","ts":1,"value":2}`,
    `{${names.replace("stream", "nothing")},"ts":1,"value":2}`,
    `{${names},"ts":1,"value":2}}`,
    `{{${names},"ts":1,"value":2}`,
    `{"ts":1,"value":2}`,
    `[${names},"ts":1,"value":2}`,
    "7",
    "",
  ]) {
    it(`is left to JSON: ${text}`, async () => {
      expect(await read(text)).to.equal(undefined);
      expect(await read(text)).to.equal(undefined);
    });
  }

  it("is one of an array of no more points than allowed, with nothing before or after it but blanks", async () => {
    const point = `{${names},"ts":1,"value":2}`;
    expect(await read(point, " \n[ ", " ]\t ")).to.deep.equal({ id: "orders", from: 0, value: 2 });
    for (const [before, after] of [
      ["[", "],"],
      ["[", "]]"],
      ["[", ""],
      ["[", ",]"],
      ["", "]"],
      ["[[", "]"],
      ["{", "}"],
    ])
      expect(await read(point, before, after), `${before} ${after}`).to.equal(undefined);
    expect(await read(`${point},${point}`)).to.equal(undefined);
  });
});

describe("series that earlier writes named", () => {
  const window = { from: 0, to: Number.MAX_SAFE_INTEGER, endAfter: 0 };
  const mode = { newSink: () => new PointFold(), window, hasSources: false };
  const named = (count: number) =>
    Array.from({ length: count }, (_, i) => {
      const series = new KnownSeries(stream, `${i}`.padStart(80, "-"), "size");
      return { series, head: `{"dimension":"stream","dimension_id":"${series.id}","dimension_type":"size"` };
    });

  it("take the memory of their names, and no more than the caches may", () => {
    const all = named(5_000);
    const cache = new CacheMemory(2_000_000);
    const reader = pointReaders(settingsFor("unused").limits, cache)(mode);
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    for (const { series, head } of all) {
      cacheHead(reader, Buffer.from(head).toString("latin1"), { series, source: 0 });
      // Small buffers share memory, here with buffers of other requests.
      for (let i = 0; i < 4; i += 1) Buffer.allocUnsafe(4_000);
    }
    collectGarbage();
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(10_000_000);
    expect(cache.bytes).to.be.within(1_900_000, 2_000_000);
    const found = all.filter(({ series, head }) => reader.heads.get(head)?.series === series);
    expect(found.length).to.be.within(2_000, 4_999);
  });

  it("are one series in a write, also after they were removed from the cache, and under another name of the dimension", async () => {
    const none = pointReaders(settingsFor("unused").limits, new CacheMemory(0))(mode);
    const point = (dimension: string, value: number) =>
      `{"dimension":"${dimension}","dimension_id":"a","dimension_type":"size","ts":7200000,"value":${value}}`;
    const text = `[${point("segment", 1)},${point("segsize", 2)},${point("segment", 3)}]`;
    expect(await readPointsFastPath(Buffer.from(text), none, 3)).to.equal(3);
    expect(none.sink.columns().map(({ values }) => [...values])).to.deep.equal([[3]]);
  });
});
