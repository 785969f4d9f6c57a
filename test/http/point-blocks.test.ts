import { Readable } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { ServiceError } from "../../src/errors.js";
import type { ApiContext } from "../../src/http/core/route.js";
import { readJsonPoints } from "../../src/http/points/json-points.js";
import { pointReaders } from "../../src/http/points/point-reader.js";
import { PointFold } from "../../src/metrics/slot-columns.js";
import { newBudgets } from "../support/routes-alone.js";
import { settingsFor } from "../support/service.js";

const HOUR = 3_600_000;
const FROM = Date.UTC(2020, 0, 1);

const { limits } = settingsFor("unused");

/** A request with this body. */
function requestOf(body: object | string): ApiContext {
  const bytes = Readable.from([Buffer.from(typeof body === "string" ? body : JSON.stringify(body))]);
  const req = Object.assign(bytes, { headers: { "content-type": "application/json" } });
  const { memory, turns } = newBudgets();
  const state = { deadline: { pause() {}, resume() {} }, memory: memory.open(() => {}), turns };
  return { req, state, get: () => "" } as unknown as ApiContext;
}

const modeOf = () => {
  const window = { from: FROM, to: Number.MAX_SAFE_INTEGER, endAfter: 0 };
  return { newSink: () => new PointFold(), window, hasSources: false };
};
const newReader = () => pointReaders(limits)(modeOf());

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

describe("a block that begins with the same series as one before", () => {
  const readers = pointReaders(limits);
  const list = (...ids: readonly string[]) => JSON.stringify(["a", "b", "c", ...ids].map(seriesNamed));
  const rows = (count: number, value: string) => `[${Array.from({ length: count }, () => `[${value}]`)}]`;

  /** Returns the columns of a body, or its error. */
  async function outcome(body: string, readerOf: typeof readers): Promise<unknown> {
    const reader = readerOf(modeOf());
    try {
      await readJsonPoints(requestOf(body), reader, limits);
      return reader.sink.columns().map(({ series: { id }, from, values }) => ({ id, from, values: [...values] }));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { message: error.message, issues: error.issues };
    }
  }

  const first = `{"series":${list("d")},"ts":[${FROM}],"values":${rows(4, "1")}}`;
  const bodies = {
    "other values": first.replaceAll("[1]", "[2]"),
    "another series at the end": first.replace('"d"', '"e"'),
    "a longer list": `{"series":${list("d", "e")},"ts":[${FROM}],"values":${rows(5, "1")}}`,
    "a second list": first.replace(/}$/, `,"series":${list("e")}}`),
    "a second list under an escaped name": first.replace(/}$/, `,"s\\u0065ries":${list("e")}}`),
    "invalid values": first.replaceAll("[1]", '["1"]'),
    "too few rows": first.replace("[1],", ""),
    "no JSON after the list": first.replace('"ts":', '"ts";'),
    "an unknown field": first.replace('"ts"', '"tss"'),
    "nothing after the list": first.slice(0, first.indexOf(',"ts"')),
  };
  for (const [what, body] of Object.entries(bodies)) {
    it(`is read as if it were the first one: ${what}`, async () => {
      await outcome(first, readers);
      expect(await outcome(body, readers)).to.deep.equal(await outcome(body, pointReaders(limits)));
    });
  }
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
