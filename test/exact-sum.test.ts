import { expect } from "chai";
import fc from "fast-check";
import { ExactSum } from "../src/exact-sum.js";

/** A number as the integer `fraction` times 2 to the power of `exponent`. */
interface Scaled {
  readonly fraction: number;
  readonly exponent: number;
}

const scaled = (least: number, most: number): fc.Arbitrary<Scaled> =>
  fc.record({ fraction: fc.maxSafeInteger(), exponent: fc.integer({ min: least, max: most }) });

const numberOf = ({ fraction, exponent }: Scaled) => fraction * 2 ** exponent;

/** Returns the number in units of the smallest double. */
const unitsOf = ({ fraction, exponent }: Scaled) => BigInt(fraction) << BigInt(exponent + 1074);

describe("an exact sum", () => {
  for (const [what, least, most] of [
    ["of any size", -1074, 970],
    ["beyond the range of doubles", 960, 970],
    ["next to the smallest double", -1074, -1000],
    ["of similar size", -60, 10],
  ] as const) {
    it(`of numbers ${what}, of which some are removed again, is the double nearest to their sum`, () => {
      const numbers = fc.array(fc.tuple(scaled(least, most), fc.boolean()), { minLength: 1, maxLength: 60 });
      const property = fc.property(numbers, fc.nat(8), (all, restarts) => {
        let sum = new ExactSum();
        const kept = all.filter(([, isRemoved]) => !isRemoved).map(([number]) => number);
        for (const [i, [number]] of all.entries()) {
          sum.add(numberOf(number));
          if (i % 10 === restarts) sum = stored(sum);
        }
        for (const [number, isRemoved] of all) if (isRemoved) sum.add(-numberOf(number));
        const units = kept.reduce((total, number) => total + unitsOf(number), 0n);
        expect(sum.round().sum).to.equal(nearest(units));
        for (const number of kept) sum.add(-numberOf(number));
        expect(stored(sum).round()).to.deep.equal({ sum: 0, rest: 0 });
      });
      fc.assert(property, { numRuns: 300 });
    });
  }

  it("has a rest of one number if that is enough", () => {
    const sum = new ExactSum();
    for (const value of [0.1, 0.2, 1e12, 12_345.678, -0.3, 1e-3]) sum.add(value);
    expect(sum.round().rest).to.be.a("number");
    expect(stored(sum).round()).to.deep.equal(sum.round());
  });

  it("of a million numbers at the limit takes a few hundred bytes", () => {
    const sum = new ExactSum();
    for (let i = 0; i < 1_000_000; i += 1) sum.add(Number.MAX_VALUE);
    const { sum: rounded, rest } = sum.round();
    expect(rounded).to.equal(Number.MAX_VALUE);
    expect((rest as Uint8Array).length).to.be.below(1_000);
  });
});

/** Returns the sum after it was stored and read. */
function stored(sum: ExactSum): ExactSum {
  const { sum: rounded, rest } = sum.round();
  return new ExactSum(rounded, rest);
}

/** Returns the double nearest to a number of units, found by halving: of two, the one with an even fraction. */
function nearest(units: bigint): number {
  if (units < 0n) return -nearest(-units);
  let [low, high] = [0n, 0x7fefffffffffffffn];
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (unitsOfBits(middle) <= units) low = middle;
    else high = middle - 1n;
  }
  const [below, above] = [units - unitsOfBits(low), unitsOfBits(low + 1n) - units];
  const isAbove = above < below || (above === below && (low & 1n) === 1n);
  return Math.min(Number.MAX_VALUE, doubleOf(isAbove ? low + 1n : low));
}

/** Positive doubles have the order of their bits. */
function doubleOf(bits: bigint): number {
  return new Float64Array(BigUint64Array.of(bits).buffer)[0] as number;
}

function unitsOfBits(bits: bigint): bigint {
  const exponent = bits >> 52n;
  return exponent === 0n ? bits : ((bits & 0xfffffffffffffn) | (1n << 52n)) << (exponent - 1n);
}
