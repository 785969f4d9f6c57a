import { expect } from "chai";
import fc from "fast-check";
import {
  type Aggregation,
  aggregations,
  SlotAggregator,
  seriesOfKey,
  slotOfKey,
} from "../../src/commands/ingest/slot-aggregator.js";

interface Value {
  readonly series: number;
  readonly slot: number;
  readonly value: number;
  readonly ms: number;
}

describe("the slot aggregator", () => {
  const value = fc.record({
    series: fc.nat(3),
    slot: fc.nat(40),
    value: fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(1e-17, -1e-17, 5e-324)),
    ms: fc.nat(9),
  });

  for (const [name, capacity] of [
    ["in memory", 2 ** 14],
    ["moved to disk many times", 16],
  ] as const) {
    it(`returns each slot once, in order, with the result of a plain loop: ${name}`, () => {
      fc.assert(
        fc.property(fc.array(value, { maxLength: 400 }), (values) => {
          const aggregator = new SlotAggregator(aggregations, capacity);
          for (const [line, { series, slot, value, ms }] of values.entries())
            aggregator.add(series, slot, value, ms, line);
          const found = Array.from(aggregator.slots(), (slot) => ({ ...slot }));
          aggregator.close();
          const expected = plainly(values);
          expect(found.map(({ key }) => [seriesOfKey(key), slotOfKey(key)])).to.deep.equal(expected.map(([at]) => at));
          expect(found.map(({ value }) => value)).to.deep.equal(expected.map(([, value]) => value));
          expect(found.map(({ origin }) => origin)).to.deep.equal(expected.map(([, , origin]) => origin));
        }),
      );
    });
  }

  it("aggregates far more slots than fit into memory", () => {
    const aggregator = new SlotAggregator(["sum"], 2 ** 12);
    for (let i = 0; i < 200_000; i += 1) aggregator.add(0, (i * 7919) % 100_000, 1, i, i);
    let count = 0;
    for (const { key, value } of aggregator.slots()) {
      if (key !== count || value !== 2) throw new Error(`slot ${count} is ${key} with ${value}`);
      count += 1;
    }
    aggregator.close();
    expect(count).to.equal(100_000);
  });
});

/** Series and slot, aggregated value, and the line that it is blamed on: the last line with the latest time. */
function plainly(values: readonly Value[]): [[number, number], number, number][] {
  const slots = new Map<string, { at: [number, number]; all: (Value & { line: number })[] }>();
  for (const [line, one] of values.entries()) {
    const key = `${one.series}/${one.slot}`;
    const slot = slots.get(key) ?? { at: [one.series, one.slot] as [number, number], all: [] };
    slots.set(key, slot);
    slot.all.push({ ...one, line });
  }
  return [...slots.values()]
    .sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1])
    .map(({ at, all }) => {
      const last = all.reduce((latest, one) => (one.ms >= latest.ms ? one : latest));
      return [
        at,
        combined(
          aggregations[at[0]] as Aggregation,
          all.map(({ value }) => value),
          last.value,
        ),
        last.line,
      ];
    });
}

function combined(aggregation: Aggregation, values: readonly number[], last: number): number {
  if (aggregation === "last") return last;
  return aggregation === "sum" ? values.reduce((sum, one) => sum + one, 0) : Math[aggregation](...values);
}
