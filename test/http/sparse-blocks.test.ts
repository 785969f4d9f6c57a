import { Readable } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { readJsonPoints } from "../../src/http/points/json-points.js";
import { pointReaders } from "../../src/http/points/point-reader.js";
import type { ApiContext } from "../../src/http/route.js";
import { settingsFor } from "../support/service.js";

const HOUR = 3_600_000;
const FROM = Date.UTC(2020, 0, 1);

const { limits } = settingsFor("unused");

/** The columns that the body of a block comes to; `rows` hold a value or null for each of the times. */
async function columnsOf(ts: readonly number[], rows: readonly (readonly (number | null)[])[]) {
  const series = rows.map((_, i) => ({ dimension: "stream", dimension_id: `s${i}`, dimension_type: "size" }));
  const body = Readable.from([Buffer.from(JSON.stringify({ series, ts, values: rows }))]);
  const req = Object.assign(body, { headers: { "content-type": "application/json" } });
  const reader = pointReaders(limits)({ from: 0, to: Number.MAX_SAFE_INTEGER });
  const { columns } = await readJsonPoints({ req, get: () => "" } as unknown as ApiContext, reader, limits);
  return columns;
}

describe("a block of few values for many times", () => {
  it("takes room for its values, not for every time of every series", async () => {
    const times = Array.from({ length: 1_000 }, (_, i) => FROM + 32 * i * HOUR);
    const rows = times.slice(0, 200).map((_, row) => times.map((_, i) => (i % 500 === row ? row : null)));
    const columns = await columnsOf(times, rows);
    expect(columns.reduce((slots, { values }) => slots + values.length, 0)).to.be.at.most(33 * 400);
    expect(columns).to.have.length(400);
  });

  it("says what each of its rows says, the later value of a slot where there are two", async () => {
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
