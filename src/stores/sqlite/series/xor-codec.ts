/** Maximum leading zero bits that a block states, so that their number takes 5 bits. */
const MAX_LEADING = 31;

/** Both halves of a double. */
const halves = new DataView(new ArrayBuffer(8));

/**
 * Writes `count` doubles, at least one, from `at` on, to bytes that are zero there. Returns the end of the bytes.
 *
 * They are a stream of bits, in which every number has its highest bit first (Pelkonen et al., "Gorilla", VLDB 2015,
 * section 4.1.2). The first double has 64 bits. Each other one is XORed with the one before:
 *
 * - `0`: the result is zero.
 * - `10`: the bits of the result inside the block follow. Those outside it are zero.
 * - `11`: a new block follows, then the bits of the result inside it.
 *
 * A block is a range of the 64 bits: the number of bits above it, 0 to 31 (5 bits), and its length − 1 (6 bits). It
 * remains until the next one. Unused bits of the last byte are zero.
 */
export function encodeXor(doubles: Float64Array, count: number, bytes: DataView, at: number): number {
  const out = new BitWriter(bytes, at);
  let [high, low] = [0, 0];
  let [leading, length] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    halves.setFloat64(0, doubles[i] as number);
    const nextHigh = halves.getUint32(0);
    const nextLow = halves.getUint32(4);
    const xorHigh = (high ^ nextHigh) >>> 0;
    const xorLow = (low ^ nextLow) >>> 0;
    [high, low] = [nextHigh, nextLow];
    if (i === 0) {
      out.write(high, 32);
      out.write(low, 32);
      continue;
    }
    if (xorHigh === 0 && xorLow === 0) {
      out.write(0, 1);
      continue;
    }
    const zeros = Math.min(MAX_LEADING, xorHigh === 0 ? 32 + Math.clz32(xorLow) : Math.clz32(xorHigh));
    const trailing = xorLow === 0 ? 32 + trailingZeros(xorHigh) : trailingZeros(xorLow);
    if (length > 0 && zeros >= leading && trailing >= 64 - leading - length) {
      out.write(0b10, 2);
    } else {
      leading = zeros;
      length = 64 - leading - trailing;
      out.write(0b11, 2);
      out.write(leading, 5);
      out.write(length - 1, 6);
    }
    const end = leading + length;
    // Bits [leading, end) of the 64, of which the high half has the first 32.
    if (leading < 32) {
      const inHigh = Math.min(32, end) - leading;
      out.write(xorHigh >>> (32 - Math.min(32, end)), inHigh);
    }
    if (end > 32) {
      const inLow = end - Math.max(32, leading);
      out.write(xorLow >>> (64 - end), inLow);
    }
  }
  return out.end;
}

/** Reads `count` doubles of `encodeXor` from `at` on into the start of `target`. Four bytes follow the last one. */
export function decodeXor(bytes: DataView, at: number, count: number, target: Float64Array): void {
  const input = new BitReader(bytes, at);
  let high = input.read(32);
  let low = input.read(32);
  let [leading, length] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    if (i > 0 && input.read(1) === 1) {
      if (input.read(1) === 1) {
        leading = input.read(5);
        length = input.read(6) + 1;
      }
      const last = leading + length;
      if (leading < 32) high = (high ^ (input.read(Math.min(32, last) - leading) << (32 - Math.min(32, last)))) >>> 0;
      if (last > 32) low = (low ^ (input.read(last - Math.max(32, leading)) << (64 - last))) >>> 0;
    }
    halves.setUint32(0, high);
    halves.setUint32(4, low);
    target[i] = halves.getFloat64(0);
  }
}

function trailingZeros(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** Returns the lowest `count` bits, 1 to 32, of a word. */
function bitsBelow(word: number, count: number): number {
  return count === 32 ? word >>> 0 : word & (2 ** count - 1);
}

/** Bits written or read at once: four bytes contain 25 bits from any bit of the first byte on. */
const AT_ONCE = 24;

/** Writes bits, the highest of each byte first, to bytes that are zero. */
class BitWriter {
  readonly #bytes: DataView;
  #bit: number;

  constructor(bytes: DataView, at: number) {
    this.#bytes = bytes;
    this.#bit = at * 8;
  }

  /** Index after the last byte that has a bit. */
  get end(): number {
    return (this.#bit + 7) >>> 3;
  }

  /** Writes the lowest `count` bits, 1 to 32, of a word. */
  write(word: number, count: number): void {
    if (count > AT_ONCE) {
      this.write(word >>> 16, count - 16);
      this.write(word & 0xffff, 16);
      return;
    }
    const byte = this.#bit >>> 3;
    const shift = 32 - (this.#bit & 7) - count;
    this.#bytes.setUint32(byte, this.#bytes.getUint32(byte) | (bitsBelow(word, count) << shift));
    this.#bit += count;
  }
}

/** Reads bits, the highest of each byte first. */
class BitReader {
  readonly #bytes: DataView;
  #bit: number;

  constructor(bytes: DataView, at: number) {
    this.#bytes = bytes;
    this.#bit = at * 8;
  }

  /** Returns the next `count` bits, 1 to 32, as an unsigned integer. */
  read(count: number): number {
    if (count > AT_ONCE) return (this.read(count - 16) * 2 ** 16 + this.read(16)) >>> 0;
    const word = this.#bytes.getUint32(this.#bit >>> 3);
    const shift = 32 - (this.#bit & 7) - count;
    this.#bit += count;
    return bitsBelow(word >>> shift, count);
  }
}
