import { decodeXor, encodeXor } from "./xor-codec.js";

/**
 * Compact bytes of the values of 1 to 255 consecutive slots; NaN is a slot without a value. Decoding returns the same
 * doubles, bit for bit, except that every NaN is the same.
 *
 * Byte 0 is the number of the encoding, plus 128 if a bitmap follows. Byte 1 is the number of slots. The bitmap has
 * ⌈slots / 8⌉ bytes and is there if some slots have a value and some have none, except in `RAW`: bit i % 8 of its
 * byte ⌊i / 8⌋ is set if the slot i has a value (bit 0 is the lowest). The rest has the values in the order of their
 * slots, and nothing follows it. Numbers are little-endian, except in `XOR`. Unused bits are 0.
 *
 * - `RAW` (0): a double for each slot, NaN if it has no value.
 * - `PACKED` (1): decimals, value = n / 10 ** e, with integers n of a magnitude below 2 ** 53. A byte e (0 to 22), a
 *   byte w (0 to 53), the smallest n as a double; then n − smallest n of each value, as integers of w bits (frame of
 *   reference: Goldstein, Ramakrishnan, Shaft, "Compressing relations and indexes", ICDE 1998; decimals: Afroozeh,
 *   Kuffó, Boncz, "ALP", SIGMOD 2023). The quotient of both doubles is the value; −0 is no such decimal.
 * - `PACKED_DELTAS` (2): the same decimals. A byte e, a byte w, the first n and the smallest difference as doubles;
 *   then difference − smallest difference of each value after the first, as integers of w bits. A difference is n
 *   minus the n of the value before.
 * - `XOR` (3): see `encodeXor`.
 *
 * Integers of w bits are in up to three planes, each of which begins with a byte: bits 0 to 23 of every integer, then
 * bits 24 to 47, then the bits above. A plane without bits has no bytes. In a plane with p bits of each integer, bit
 * b of the integer i is bit (i × p + b) % 8 of byte ⌊(i × p + b) / 8⌋.
 */
const RAW = 0;
const PACKED = 1;
const PACKED_DELTAS = 2;
const XOR = 3;
const HAS_BITMAP = 128;

/** Maximum slots of one encoding. */
const MAX_SLOTS = 255;

/** Bits per plane. Four bytes contain 25 bits from any bit of the first byte on. */
const PLANE_BITS = 24;

/** Maximum width of an integer, bits: differences of safe integers up to it are exact. */
const MAX_BITS = 53;

/** Estimated bits of a value that differs from the one before, in the encoding `XOR`. */
const CHANGE_BITS = 40;

const HEAD = 2;
const PACKED_HEAD = 2 + 8;
const DELTAS_HEAD = 2 + 8 + 8;

/** Powers of ten that are exact doubles: n / 10 ** e is then the double nearest to the decimal. */
const POWERS = Array.from({ length: 23 }, (_, e) => Number(`1e${e}`));

/** Reused by every call. The margin has room for the longest `XOR`, and for four bytes read or written at any byte. */
const bytes = new Uint8Array(HEAD + MAX_SLOTS * 10 + 64);
const view = new DataView(bytes.buffer);
const doubles = new Float64Array(MAX_SLOTS);
const integers = new Float64Array(MAX_SLOTS);

/** Returns the bytes of 1 to 255 slots, in the shortest encoding. */
export function encodeSlots(values: Float64Array): Uint8Array {
  const count = copySet(values);
  const at = writeHead(values, count);
  const raw = HEAD + 8 * values.length;
  const integers = count === 0 ? undefined : integersOf(count);
  const end = at + (integers?.length ?? Number.POSITIVE_INFINITY);
  if (count > 0 && (integers === undefined || count + integers.changes * CHANGE_BITS < 8 * integers.length)) {
    bytes.fill(0, at);
    const xorEnd = encodeXor(doubles, count, view, at);
    if (xorEnd < Math.min(end, raw)) return encoded(XOR, xorEnd);
  }
  if (integers !== undefined && end < raw) return encoded(writeIntegers(integers, count, at), end);
  writeRaw(values);
  return bytes.slice(0, raw);
}

/** Returns the first bytes with the encoding in byte 0. */
function encoded(kind: number, end: number): Uint8Array {
  bytes[0] = (bytes[0] as number) | kind;
  return bytes.slice(0, end);
}

/** Writes the slots of `encodeSlots` to `target` from the index 0 on. Returns their number. */
export function decodeSlots(encoded: Uint8Array, target: Float64Array): number {
  bytes.set(encoded);
  const length = bytes[1] as number;
  const kind = (bytes[0] as number) & ~HAS_BITMAP;
  if (kind === RAW) return readRaw(length, target);
  if (bytes[0] === kind) {
    readSet(kind, HEAD, length, target);
    return length;
  }
  const count = bitsIn(HEAD, length);
  readSet(kind, HEAD + bitmapBytes(length), count, target);
  spread(length, count, target);
  return length;
}

/** Copies the values that are set to `doubles`. Returns their number. */
function copySet(values: Float64Array): number {
  let count = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if (Number.isNaN(value)) continue;
    doubles[count] = value;
    count += 1;
  }
  return count;
}

/** Writes the number of slots and the bitmap. Returns where the values begin. */
function writeHead(values: Float64Array, count: number): number {
  bytes[0] = 0;
  bytes[1] = values.length;
  if (count === values.length) return HEAD;
  const end = HEAD + bitmapBytes(values.length);
  bytes[0] = HAS_BITMAP;
  bytes.fill(0, HEAD, end);
  for (let i = 0; i < values.length; i += 1) {
    const byte = HEAD + (i >> 3);
    if (!Number.isNaN(values[i])) bytes[byte] = (bytes[byte] as number) | (1 << (i & 7));
  }
  return end;
}

/** Integers to pack, in `integers`, with the shorter of both encodings. */
interface Packing {
  readonly exponent: number;
  readonly hasDeltas: boolean;
  readonly width: number;
  /** The smallest integer, or the smallest difference. */
  readonly least: number;
  /** Bytes, without the bitmap and the bytes before it. */
  readonly length: number;
  /** Values that differ from the one before. */
  readonly changes: number;
}

/** Returns the values as integers; undefined if they are no decimals, or too far apart. */
function integersOf(count: number): Packing | undefined {
  const exponent = decimalExponent(count);
  if (exponent === undefined) return undefined;
  const { least, width, leastDelta, deltaWidth, changes } = rangeOf(count);
  if (Math.max(width, deltaWidth) > MAX_BITS) return undefined;
  const packed = PACKED_HEAD + planeBytes(count, width);
  const deltas = DELTAS_HEAD + planeBytes(count - 1, deltaWidth);
  return packed <= deltas
    ? { exponent, hasDeltas: false, width, least, length: packed, changes }
    : { exponent, hasDeltas: true, width: deltaWidth, least: leastDelta, length: deltas, changes };
}

/** Writes `integers`. Returns the encoding. */
function writeIntegers({ exponent, hasDeltas, width, least }: Packing, count: number, at: number): number {
  bytes[at] = exponent;
  bytes[at + 1] = width;
  if (!hasDeltas) {
    view.setFloat64(at + 2, least, true);
    for (let i = 0; i < count; i += 1) integers[i] = (integers[i] as number) - least;
    writePlanes(0, count, width, at + PACKED_HEAD);
    return PACKED;
  }
  view.setFloat64(at + 2, integers[0] as number, true);
  view.setFloat64(at + 10, least, true);
  for (let i = count - 1; i > 0; i -= 1) integers[i] = (integers[i] as number) - (integers[i - 1] as number) - least;
  writePlanes(1, count, width, at + DELTAS_HEAD);
  return PACKED_DELTAS;
}

/**
 * Writes `doubles` × 10 ** e to `integers`, for the smallest e for which all are safe integers that divide to exactly
 * the same double. Returns e; undefined if there is none.
 */
function decimalExponent(count: number): number | undefined {
  let exponent = 0;
  for (let i = 0; i < count; i += 1) {
    const value = doubles[i] as number;
    while (!Object.is(integerOf(value, exponent) / (POWERS[exponent] as number), value)) {
      exponent += 1;
      if (exponent === POWERS.length || !Number.isSafeInteger(integerOf(value, exponent))) return undefined;
    }
  }
  for (let i = 0; i < count; i += 1) {
    const value = doubles[i] as number;
    const integer = integerOf(value, exponent);
    if (!Number.isSafeInteger(integer) || !Object.is(integer / (POWERS[exponent] as number), value)) return undefined;
    integers[i] = integer;
  }
  return exponent;
}

/** Returns the integer nearest to value × 10 ** exponent; 0 for −0, which no integer divides to. */
function integerOf(value: number, exponent: number): number {
  return Math.round(value * (POWERS[exponent] as number)) + 0;
}

/** Returns the smallest of `integers` and of their differences, with the widths of the rest, and the changes. */
function rangeOf(count: number) {
  let least = integers[0] as number;
  let most = least;
  let leastDelta = Number.POSITIVE_INFINITY;
  let mostDelta = Number.NEGATIVE_INFINITY;
  let changes = 0;
  let before = least;
  for (let i = 1; i < count; i += 1) {
    const integer = integers[i] as number;
    const delta = integer - before;
    if (integer < least) least = integer;
    else if (integer > most) most = integer;
    if (delta < leastDelta) leastDelta = delta;
    if (delta > mostDelta) mostDelta = delta;
    if (delta !== 0) changes += 1;
    before = integer;
  }
  if (count === 1) leastDelta = mostDelta = 0;
  return { least, width: bitsOf(most - least), leastDelta, deltaWidth: bitsOf(mostDelta - leastDelta), changes };
}

/** Returns the bits of a non-negative integer; more than `MAX_BITS` if it is not exact. */
function bitsOf(integer: number): number {
  if (integer > Number.MAX_SAFE_INTEGER) return MAX_BITS + 1;
  const high = Math.floor(integer / 2 ** 32);
  return high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(integer);
}

function bitmapBytes(slots: number): number {
  return (slots + 7) >> 3;
}

/** Returns the bytes of all planes of `count` integers of `width` bits. */
function planeBytes(count: number, width: number): number {
  let length = 0;
  for (let bits = width; bits > 0; bits -= PLANE_BITS) length += (count * Math.min(bits, PLANE_BITS) + 7) >> 3;
  return length;
}

/** Writes `integers` [start, end) as planes. */
function writePlanes(start: number, end: number, width: number, at: number): void {
  let from = at;
  for (let shift = 0; shift < width; shift += PLANE_BITS) {
    const bits = Math.min(PLANE_BITS, width - shift);
    const to = from + (((end - start) * bits + 7) >> 3);
    bytes.fill(0, from, to + 4);
    let bit = from * 8;
    for (let i = start; i < end; i += 1, bit += bits) {
      const integer = integers[i] as number;
      const part = shift === 0 && width <= PLANE_BITS ? integer : Math.floor(integer / 2 ** shift) % 2 ** bits;
      const byte = bit >>> 3;
      view.setUint32(byte, view.getUint32(byte, true) | (part << (bit & 7)), true);
    }
    from = to;
  }
}

/** Reads planes into `target` [start, end). */
function readPlanes(start: number, end: number, width: number, at: number, target: Float64Array): void {
  if (width === 0) target.fill(0, start, end);
  let from = at;
  for (let shift = 0; shift < width; shift += PLANE_BITS) {
    const bits = Math.min(PLANE_BITS, width - shift);
    const mask = 2 ** bits - 1;
    const unit = 2 ** shift;
    let bit = from * 8;
    for (let i = start; i < end; i += 1, bit += bits) {
      const part = (view.getUint32(bit >>> 3, true) >>> (bit & 7)) & mask;
      target[i] = shift === 0 ? part : (target[i] as number) + part * unit;
    }
    from += ((end - start) * bits + 7) >> 3;
  }
}

/** Reads `count` values into the start of `target`. */
function readSet(kind: number, at: number, count: number, target: Float64Array): void {
  if (kind === XOR) {
    decodeXor(view, at, count, target);
    return;
  }
  const power = POWERS[bytes[at] as number] as number;
  const width = bytes[at + 1] as number;
  let base = view.getFloat64(at + 2, true);
  if (kind === PACKED) {
    readPlanes(0, count, width, at + PACKED_HEAD, target);
    for (let i = 0; i < count; i += 1) target[i] = base + (target[i] as number);
  } else {
    readPlanes(1, count, width, at + DELTAS_HEAD, target);
    const leastDelta = view.getFloat64(at + 10, true);
    target[0] = base;
    for (let i = 1; i < count; i += 1) target[i] = base += leastDelta + (target[i] as number);
  }
  if (power !== 1) for (let i = 0; i < count; i += 1) target[i] = (target[i] as number) / power;
}

function writeRaw(values: Float64Array): void {
  bytes[0] = RAW;
  for (let i = 0; i < values.length; i += 1) view.setFloat64(HEAD + 8 * i, values[i] as number, true);
}

function readRaw(length: number, target: Float64Array): number {
  for (let i = 0; i < length; i += 1) target[i] = view.getFloat64(HEAD + 8 * i, true);
  return length;
}

/** Returns the number of set bits among the first `length` of a bitmap. */
function bitsIn(at: number, length: number): number {
  let count = 0;
  for (let i = 0; i < length; i += 1) count += ((bytes[at + (i >> 3)] as number) >> (i & 7)) & 1;
  return count;
}

/** Moves the `count` values at the start of `target` to their slots, from the last to the first. */
function spread(length: number, count: number, target: Float64Array): void {
  let from = count - 1;
  for (let i = length - 1; i >= 0; i -= 1) {
    const isSet = (((bytes[HEAD + (i >> 3)] as number) >> (i & 7)) & 1) === 1;
    target[i] = isSet ? (target[from] as number) : Number.NaN;
    if (isSet) from -= 1;
  }
}
