/**
 * A sum without rounding, so that the order of its numbers, and one that is subtracted again, do not change it. Two
 * doubles contain it as long as they can: each addition yields its exact rounding error (Dekker, "A floating-point
 * technique for extending the available precision", Numerische Mathematik 1971). An integer takes what they cannot.
 */
export class ExactSum {
  #sum: number;
  #rest = 0;
  /** In units of the smallest double. */
  #more = 0n;

  /** Continues a sum from what `round` returned. */
  constructor(sum = 0, rest: number | Uint8Array = 0) {
    this.#sum = sum;
    if (typeof rest === "number") this.#rest = rest;
    else this.#more = BigInt(new TextDecoder().decode(rest));
  }

  add(value: number): void {
    const sum = this.#sum + value;
    const lost = errorOf(this.#sum, value, sum);
    const rest = this.#rest + lost;
    if (Number.isFinite(sum) && Number.isFinite(rest)) {
      const more = errorOf(this.#rest, lost, rest);
      this.#sum = sum;
      this.#rest = rest;
      if (more !== 0) this.#more += unitsOf(more);
    } else this.#more += unitsOf(value);
  }

  /**
   * Returns the finite double nearest to the sum, and the rest: the difference, as a double if one contains it,
   * otherwise as bytes: at most 652 for 2^64 numbers.
   */
  round(): { readonly sum: number; readonly rest: number | Uint8Array } {
    const sum = this.#sum + this.#rest;
    if (this.#more === 0n && Number.isFinite(sum)) {
      this.#rest = errorOf(this.#sum, this.#rest, sum);
      this.#sum = sum;
      return { sum, rest: this.#rest };
    }
    const units = unitsOf(this.#sum) + unitsOf(this.#rest) + this.#more;
    this.#sum = nearest(units);
    const lacking = units - unitsOf(this.#sum);
    this.#rest = nearest(lacking);
    this.#more = lacking - unitsOf(this.#rest);
    const rest = this.#more === 0n ? this.#rest : new TextEncoder().encode(String(lacking));
    return { sum: this.#sum, rest };
  }
}

/** Returns the exact error of the sum of two numbers, which is a double if the sum is finite. */
function errorOf(a: number, b: number, sum: number): number {
  return Math.abs(a) >= Math.abs(b) ? a - sum + b : b - sum + a;
}

const double = new Float64Array(1);
const bits = new BigUint64Array(double.buffer);

/** Returns a double as a number of units of the smallest one, 2^-1074. */
function unitsOf(value: number): bigint {
  double[0] = Math.abs(value);
  const exponent = (bits[0] as bigint) >> 52n;
  const fraction = BigInt.asUintN(52, bits[0] as bigint);
  const units = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return value < 0 ? -units : units;
}

/** Returns the finite double nearest to a number of units. */
function nearest(units: bigint): number {
  const cut = Math.max(0, 4 * units.toString(16).length - MAX_BITS);
  const kept = units >> BigInt(cut);
  // The last bit tells that others were cut, so that the conversion rounds in the right direction.
  const marked = kept << BigInt(cut) === units ? kept : kept | 1n;
  const rounded = Number(marked) * 2 ** (cut - 1074);
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, rounded));
}

/** Bits of an integer that are kept before it is rounded to the 53 of a double. */
const MAX_BITS = 80;
