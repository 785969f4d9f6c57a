import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect } from "chai";
import fc from "fast-check";
import { SlotFold } from "../../src/commands/ingest/slot-fold.js";
import { type Folding, foldings, seriesOfKey, slotOfKey } from "../../src/commands/ingest/slot-table.js";

interface Value {
  readonly series: number;
  readonly slot: number;
  readonly value: number;
  readonly ms: number;
}

describe("folding values into slots", () => {
  const value = fc.record({
    series: fc.nat(3),
    slot: fc.nat(40),
    value: fc.integer({ min: -1000, max: 1000 }),
    ms: fc.nat(9),
  });

  for (const [name, capacity] of [
    ["in memory", 2 ** 14],
    ["over many runs on disk", 16],
  ] as const) {
    it(`gives each slot once, in order, as a plain pass over all values would, ${name}`, () => {
      fc.assert(
        fc.property(fc.array(value, { maxLength: 400 }), (values) => {
          const fold = new SlotFold(foldings, capacity);
          for (const [line, { series, slot, value, ms }] of values.entries()) fold.add(series, slot, value, ms, line);
          const found = Array.from(fold.slots(), (slot) => ({ ...slot }));
          fold.close();
          const expected = plainly(values);
          expect(found.map(({ key }) => [seriesOfKey(key), slotOfKey(key)])).to.deep.equal(expected.map(([at]) => at));
          expect(found.map(({ value }) => value)).to.deep.equal(expected.map(([, value]) => value));
          expect(found.map(({ origin }) => origin)).to.deep.equal(expected.map(([, , origin]) => origin));
        }),
      );
    });
  }

  it("folds far more slots than fit into memory, and leaves no file behind", () => {
    const fold = new SlotFold(["sum"], 2 ** 12);
    for (let i = 0; i < 200_000; i += 1) fold.add(0, (i * 7919) % 100_000, 1, i, i);
    let count = 0;
    for (const { key, value } of fold.slots()) {
      if (key !== count || value !== 2) throw new Error(`slot ${count} is ${key} with ${value}`);
      count += 1;
    }
    fold.close();
    expect(count).to.equal(100_000);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("entity-metrics-ingest-"))).to.deep.equal([]);
  });
});

/** Series and slot, folded value, and the line that it is blamed on: that of the latest time, the later of two. */
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
          foldings[at[0]] as Folding,
          all.map(({ value }) => value),
          last.value,
        ),
        last.line,
      ];
    });
}

function combined(folding: Folding, values: readonly number[], last: number): number {
  if (folding === "last") return last;
  return folding === "sum" ? values.reduce((sum, one) => sum + one, 0) : Math[folding](...values);
}
