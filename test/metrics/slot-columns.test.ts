import { expect } from "chai";
import fc from "fast-check";
import { HOUR, segment, stream } from "../../src/metrics/dimensions.js";
import { type Series, type SlotColumn, seriesKey } from "../../src/metrics/series.js";
import { PointFold } from "../../src/metrics/slot-columns.js";

const orders: Series = { dimension: stream, id: "orders", type: "size" };
const buyers: Series = { dimension: segment, id: "buyers", type: "size" };
const START = Date.UTC(2024, 0, 1);

describe("points folded into slot columns", () => {
  it("form one dense column with NaN between them if their gaps are small", () => {
    const fold = new PointFold();
    for (const slot of [0, 1, 3]) fold.add(orders, START + slot * HOUR, slot);
    expect(fold.columns()).to.deep.equal([
      { series: orders, from: START, values: Float64Array.of(0, 1, Number.NaN, 3) },
    ]);
  });

  it("form two columns if years are between them", () => {
    const fold = new PointFold();
    fold.add(orders, START, 1);
    fold.add(orders, START + 10 * 365 * 24 * HOUR, 2);
    expect(fold.columns().map(({ values }) => values.length)).to.deep.equal([1, 1]);
  });

  it("have the value of the last point in each slot, in any order and spread", () => {
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
