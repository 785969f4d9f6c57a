import { Readable } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { CacheMemory } from "../../src/cache-memory.js";
import { ServiceError } from "../../src/errors.js";
import type { ApiContext } from "../../src/http/core/route.js";
import { readJsonPoints } from "../../src/http/points/json-points.js";
import { pointReaders } from "../../src/http/points/point-reader.js";
import { PointFold } from "../../src/metrics/slot-columns.js";
import { newMemory } from "../support/routes-alone.js";
import { settingsFor } from "../support/service.js";

const HOUR = 3_600_000;
const FROM = Date.UTC(2020, 0, 1);

const { limits } = settingsFor("unused");

/** A request with this body. */
function requestOf(body: object | string): ApiContext {
  const bytes = Readable.from([Buffer.from(typeof body === "string" ? body : JSON.stringify(body))]);
  const req = Object.assign(bytes, { headers: { "content-type": "application/json" } });
  const state = { deadline: { pause() {}, resume() {} }, memory: newMemory().open(() => {}) };
  return { req, state, get: () => "" } as unknown as ApiContext;
}

const modeOf = () => {
  const window = { from: FROM, to: Number.MAX_SAFE_INTEGER, endAfter: 0 };
  return { newSink: () => new PointFold(), window, hasSources: false };
};
const newReader = () => pointReaders(limits, new CacheMemory(0))(modeOf());

const seriesNamed = (id: string) => ({ dimension: "stream", dimension_id: id, dimension_type: "size" });

/** Columns of a block; `rows` contain a value or null for each of the times. */
async function columnsOf(ts: readonly number[], rows: readonly (readonly (number | null)[])[]) {
  const series = rows.map((_, i) => seriesNamed(`s${i}`));
  const reader = newReader();
  await readJsonPoints(requestOf({ series, ts, values: rows }), reader, limits);
  return reader.sink.columns();
}

describe("a block of few values for many times", () => {
  it("takes memory for its values, not for every time of every series", async () => {
    const times = Array.from({ length: 1_000 }, (_, i) => FROM + 32 * i * HOUR);
    const rows = times.slice(0, 200).map((_, row) => times.map((_, i) => (i % 500 === row ? row : null)));
    const columns = await columnsOf(times, rows);
    expect(columns.reduce((slots, { values }) => slots + values.length, 0)).to.be.at.most(33 * 400);
    expect(columns).to.have.length(400);
  });

  it("results in the values of its rows, and in the later of two values of a slot", async () => {
    const value = fc.option(fc.integer({ min: 0, max: 9 }), { freq: 2 });
    const block = fc
      .array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 30 })
      .chain((hours) =>
        fc.tuple(
          fc.constant(hours),
          fc.array(fc.array(value, { minLength: hours.length, maxLength: hours.length }), {
            minLength: 1,
            maxLength: 4,
          }),
        ),
      )
      .filter(([, rows]) => rows.some((row) => row.some((one) => one !== null)));
    await fc.assert(
      fc.asyncProperty(block, async ([hours, rows]) => {
        const expected = new Map<string, number>();
        for (const [i, row] of rows.entries()) {
          for (const [t, one] of row.entries()) if (one !== null) expected.set(`s${i} ${hours[t]}`, one);
        }
        const said = new Map<string, number>();
        for (const { series, from, values } of await columnsOf(
          hours.map((hour) => FROM + hour * HOUR),
          rows,
        )) {
          for (const [slot, one] of values.entries()) {
            if (!Number.isNaN(one)) said.set(`${series.id} ${(from - FROM) / HOUR + slot}`, one);
          }
        }
        expect([...said].sort()).to.deep.equal([...expected].sort());
      }),
    );
  });
});

describe("the list of series of a block", () => {
  const listOf = (count: number, id = "") => Array.from({ length: count }, (_, i) => seriesNamed(`${id}s${i}`));
  const newBlock = (series: readonly object[]) => ({ series, ts: [FROM], values: series.map(() => [1]) });

  it("is found again by its whole text, within the bytes of the cache, if all of its series are valid", async () => {
    const cache = new CacheMemory(1_000_000);
    const readers = pointReaders(limits, cache);
    const read = async (series: readonly object[]) => {
      const reader = readers(modeOf());
      await readJsonPoints(requestOf(newBlock(series)), reader, limits).catch(() => {});
      return reader.sink.columns().map(({ series }) => series);
    };
    const isCached = async (series: readonly object[]) => {
      const [first, again] = [await read(series), await read(series)];
      return first[0] === again[0];
    };
    for (const series of [listOf(100), listOf(101)]) expect(await isCached(series)).to.equal(true);
    const { bytes } = cache;
    await read([...listOf(100), {}]);
    expect(await isCached(listOf(20_000, "long"))).to.equal(false);
    expect(cache.bytes, "nothing of these is cached").to.equal(bytes);
    for (let i = 0; i < 100; i += 1) await read(listOf(1_000, `wide${i}`));
    expect(cache.bytes).to.be.within(500_000, 1_000_000);
  });
});

describe("P28: a block of many series with long names", () => {
  it("is read in parts, between which other work runs", async () => {
    const series = Array.from({ length: 40_000 }, (_, i) => seriesNamed(`${i}`.padStart(250, "-")));
    const request = requestOf({ series, ts: [FROM], values: series.map(() => [1]) });
    let rounds = 0;
    const count = () => {
      rounds += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const points = await readJsonPoints(request, newReader(), limits).finally(() => clearImmediate(timer));
    expect(points).to.equal(40_000);
    expect(rounds).to.be.above(5);
  });
});

describe("a block that is no block", () => {
  const first = JSON.stringify({ series: [seriesNamed("a")], ts: [FROM], values: [[1]] });
  const broken: [what: string, body: string, message: string][] = [
    ["no JSON after the series", first.replace('"ts":', '"ts";'), "The body is not JSON: line 1, column 83"],
    ["no JSON after a line end", first.replace(',"ts":', ',\n"ts";'), "The body is not JSON: line 2, column 5"],
    ["no JSON among the values", first.replace("[1]]", "[1x]]"), "The body is not JSON: line 1, column 112"],
    ["two lists of series", first.replace(/}$/, `,"series":[1]}`), "The body must be an array of points"],
    ["nothing after the series", first.slice(0, first.indexOf(',"ts"')), "The body is not JSON: line 1, column 78"],
    [
      "series under an escaped name",
      first.replace("}]", '}],"s\\u0065ries":[1]'),
      "The body must be an array of points",
    ],
    [
      "64 KiB of another field",
      first.replace("{", `{"a":"${"x".repeat(65_536)}",`),
      "The body must be an array of points",
    ],
  ];
  for (const [what, body, message] of broken) {
    it(`is refused: ${what}`, async () => {
      const error = await readJsonPoints(requestOf(body), newReader(), limits).catch((reason) => reason);
      expect(error).to.be.instanceOf(ServiceError).with.property("message").that.contains(message);
    });
  }

  it("may have its lists in any order", async () => {
    const reader = newReader();
    await readJsonPoints(
      requestOf(`{"values":[[1]],"ts":[${FROM}],"series":[${JSON.stringify(seriesNamed("a"))}]}`),
      reader,
      limits,
    );
    expect(reader.sink.columns().map(({ values }) => [...values])).to.deep.equal([[1]]);
  });
});

describe("a block with only invalid points", () => {
  const many = Array<number>(5_000).fill(1);
  for (const [what, block] of [
    ["times", { series: [seriesNamed("a")], ts: many, values: [[1]] }],
    ["series", { series: many, ts: [FROM], values: [[1]] }],
    ["values", { series: [seriesNamed("a")], ts: many.map((_, i) => FROM + i * HOUR), values: [many.map(String)] }],
    ["rows", { series: many.map((_, i) => seriesNamed(`s${i}`)), ts: [FROM], values: many }],
  ] as const) {
    it(`is not read further after 100 issues (${what})`, async () => {
      const reader = newReader();
      const error = await readJsonPoints(requestOf(block), reader, limits).catch((reason) => reason);
      expect(error).to.be.instanceOf(ServiceError);
      expect(error.issues).to.have.length(100);
      expect(reader.issues.count).to.be.at.most(101);
    });
  }
});
