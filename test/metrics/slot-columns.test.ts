import { expect } from "chai";
import fc from "fast-check";
import { HOUR, segment, stream } from "../../src/metrics/dimensions.js";
import { type Series, type SlotColumn, seriesKey } from "../../src/metrics/series.js";
import { layOut, PointFold, slotLayout } from "../../src/metrics/slot-columns.js";

const orders: Series = { dimension: stream, id: "orders", type: "size" };
const buyers: Series = { dimension: segment, id: "buyers", type: "size" };
const START = Date.UTC(2024, 0, 1);

describe("points folded into slot columns", () => {
  it("make one dense column of consecutive slots", () => {
    const times = [0, 1, 2, 3].map((i) => START + i * HOUR);
    const columns = layOut(slotLayout(times, HOUR), orders, [5, 6, 7, 8]);
    expect(columns).to.deep.equal([{ series: orders, from: START, values: Float64Array.of(5, 6, 7, 8) }]);
  });

  it("do not fill years between two points with a column", () => {
    const fold = new PointFold();
    fold.add(orders, START, 1);
    fold.add(orders, START + 10 * 365 * 24 * HOUR, 2);
    expect(fold.columns().map(({ values }) => values.length)).to.deep.equal([1, 1]);
  });

  it("leave out what is null", () => {
    const times = [START, START + HOUR, START + 2 * HOUR];
    const [column] = layOut(slotLayout(times, HOUR), orders, [1, null, 3]);
    expect(column?.values).to.deep.equal(Float64Array.of(1, Number.NaN, 3));
    expect(layOut(slotLayout(times, HOUR), orders, [null, null, null])).to.deep.equal([]);
  });

  it("have in each slot the value of its last point, in any order and spread", () => {
    const point = fc.record({ series: fc.constantFrom(orders, buyers), slot: fc.nat(400), value: fc.integer() });
    fc.assert(
      fc.property(fc.array(point, { maxLength: 200 }), (points) => {
        const fold = new PointFold();
        const expected = new Map<string, number>();
        for (const { series, slot, value } of points) {
          const at = START + slot * 20 * 60_000;
          fold.add(series, at, value);
          expected.set(`${seriesKey(series)}@${Math.floor(at / series.dimension.slotMs)}`, value);
        }
        expect(slotsOf(fold.columns())).to.deep.equal(new Map([...expected].sort()));
      }),
    );
  });
});

/** Every slot with a value, by series and number. */
function slotsOf(columns: readonly SlotColumn[]): Map<string, number> {
  const slots = columns.flatMap(({ series, from, values }) =>
    [...values].map((value, i) => [`${seriesKey(series)}@${from / series.dimension.slotMs + i}`, value] as const),
  );
  return new Map(slots.filter(([, value]) => !Number.isNaN(value)).sort());
}
