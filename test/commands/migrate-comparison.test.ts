import { expect } from "chai";
import {
  Checksum,
  type Comparison,
  canonical,
  comparisonTable,
  isEqual,
} from "../../src/commands/migrate/comparison.js";

describe("the comparison of npm run migrate", () => {
  const summaryOf = (...records: unknown[]) => {
    const checksum = new Checksum();
    for (const record of records) checksum.addRecord(record);
    return checksum.summary;
  };
  const valuesOf = (...values: number[]) => {
    const checksum = new Checksum();
    checksum.addValues("series", Float64Array.from(values), values.length);
    return checksum.summary;
  };

  it("does not depend on the order of records or of names in a record", () => {
    expect(summaryOf({ id: "a", n: 1 }, { id: "b" })).to.deep.equal(summaryOf({ id: "b" }, { n: 1, id: "a" }));
    expect(canonical({ b: undefined, a: Uint8Array.of(1, 255) })).to.equal('{"a":"01ff"}');
  });

  const differing: [string, unknown, unknown][] = [
    ["a value", { id: "a", n: 1 }, { id: "a", n: 2 }],
    ["a byte", { id: "a", key: Uint8Array.of(1) }, { id: "a", key: Uint8Array.of(2) }],
    ["a missing name", { id: "a", n: 1 }, { id: "a" }],
    ["the smallest part of a time", { at: 1_700_000_000_000 }, { at: 1_700_000_000_000 + 1 / 1024 }],
    ["the order of a list", { list: ["a", "b"] }, { list: ["b", "a"] }],
  ];
  for (const [what, a, b] of differing) {
    it(`finds a difference in ${what}`, () => {
      expect(summaryOf(a).checksum).to.not.equal(summaryOf(b).checksum);
    });
  }

  it("finds a duplicate record", () => {
    expect(summaryOf({ id: "a" }, { id: "a" }).checksum).to.not.equal(summaryOf({ id: "a" }).checksum);
  });

  it("treats all forms of NaN, and both zeros, as equal", () => {
    const otherNaN = new Float64Array(new BigUint64Array([0x7ff8_0000_0000_0001n]).buffer)[0] as number;
    expect(valuesOf(Number.NaN, 0, 1)).to.deep.equal(valuesOf(otherNaN, -0, 1));
    expect(valuesOf(Number.NaN, 0, 1).checksum).to.not.equal(valuesOf(0, Number.NaN, 1).checksum);
  });

  it("names the part that differs", () => {
    const [one, two] = [summaryOf({ id: "a" }), summaryOf({ id: "a" }, { id: "b" })];
    const comparisons: Comparison[] = [
      { part: "entities", source: two, target: two },
      { part: "history", source: two, target: one },
    ];
    expect(comparisons.map(isEqual)).to.deep.equal([true, false]);
    const [, entities, history] = comparisonTable(comparisons).split("\n");
    expect(entities).to.match(/^entities +2 +2 +[0-9a-f]{32} +equal$/);
    expect(history).to.match(/^history +2 +1 +[0-9a-f]{32} +DIFFERS: [0-9a-f]{32}$/);
  });
});
