import { expect } from "chai";
import fc from "fast-check";
import { decodeSlots, encodeSlots } from "../../../../src/stores/sqlite/series/slot-codec.js";

const MOST = 168;

/** Values of many kinds: each column mixes values of its kind with slots without a value. */
const kinds: Record<string, fc.Arbitrary<number>> = {
  "small counts": fc.nat(9_999),
  "large integers": fc.maxSafeInteger(),
  "integers beyond the safe ones": fc
    .double({ noNaN: true, noDefaultInfinity: true, noInteger: false })
    .map(Math.round),
  decimals: fc.tuple(fc.integer(), fc.nat(20)).map(([integer, digits]) => Number(`${integer}e-${digits}`)),
  doubles: fc.double({ noNaN: true, noDefaultInfinity: true }),
  "doubles of any bits": fc
    .tuple(fc.integer(), fc.integer())
    .map(([high, low]) => new Float64Array(Int32Array.of(low, high).buffer)[0] as number)
    .filter(Number.isFinite),
  "a few values": fc.constantFrom(0, -0, 0.1, 0.1 + 0.2, 1e-300, 5e-324, Number.MAX_VALUE, -1, 2 ** 53, -(2 ** 53) - 2),
};

const columnOf = (value: fc.Arbitrary<number>) =>
  fc
    .tuple(
      fc.array(fc.oneof({ weight: 8, arbitrary: value }, fc.constant(Number.NaN)), { minLength: 1, maxLength: MOST }),
      fc.nat(3),
    )
    // Stretches of one value.
    .map(([values, stretch]) => Float64Array.from(values, (_, i) => values[i >> stretch] as number));

function decoded(bytes: Uint8Array): number[] {
  const target = new Float64Array(MOST);
  return [...target.subarray(0, decodeSlots(bytes, target))];
}

const column = (length: number, value: (slot: number) => number) => Float64Array.from({ length }, (_, i) => value(i));
const bytesOf = (value: (slot: number) => number) => encodeSlots(column(MOST, value)).length;

describe("encoded slots", () => {
  for (const [kind, value] of Object.entries(kinds)) {
    it(`are decoded to the same doubles, bit for bit: ${kind}`, () => {
      fc.assert(
        fc.property(columnOf(value), (values) => {
          const bytes = encodeSlots(values);
          expect(decoded(bytes)).to.deep.equal([...values]);
          expect(bytes.length).to.be.at.most(2 + 8 * values.length);
        }),
        { numRuns: 400 },
      );
    });
  }

  it("take few bytes where values are counts, decimals, or repeat", () => {
    const random = (slot: number) => (Math.imul(slot + 1, 2_654_435_761) >>> 0) / 2 ** 32;
    expect(bytesOf(() => 123_456)).to.equal(12);
    expect(bytesOf((slot) => 5_000_000 + 7 * slot)).to.equal(20);
    expect(bytesOf(() => 0.1 + 0.2)).to.be.at.most(32);
    expect(bytesOf((slot) => Math.floor(10_000 * random(slot)))).to.be.at.most(2 * MOST);
    expect(bytesOf((slot) => Math.floor(10_000 * random(slot)) / 100)).to.be.at.most(2 * MOST);
    expect(bytesOf((slot) => (slot % 50 === 0 ? Math.floor(1e6 * random(slot)) : 0))).to.be.at.most(64);
    expect(bytesOf((slot) => (slot % 3 === 0 ? Number.NaN : slot % 2))).to.be.at.most(64);
  });
});
