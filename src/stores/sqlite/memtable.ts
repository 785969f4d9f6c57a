import { CHUNK_SLOTS, layValues, PLANES, type RowSlots, rowOf } from "./chunks.js";
import type { PointRecord, TakeSlots } from "./journal-table.js";

/** Initial capacity of a row, slots; it doubles when full. */
const ROOM = 8;

/** Memory of a row besides its slots: its place in the lists and in the map. */
const ROW_BYTES = 70;

/** Slots are allocated from blocks of this many doubles. */
const PIECE = 2 ** 17;

/** Marks the absence of a row. */
const NONE = -1;

/**
 * Slots of journal records, by series (its id) and row of `chunk`; the later of two values of a slot wins. There may be
 * several 100,000 rows of a few slots each, so a row is not an object but an index into typed arrays.
 */
export class Memtable {
  /** Index of the newest row of each series, and for each row the index of the series' previous row. */
  readonly #newest = new Map<number, number>();
  #before = new Int32Array(1_024);
  #rows = new Float64Array(1_024);
  /** For each row: its first slot in the chunk, its capacity, and the start of its slots in the blocks. */
  #firsts = new Uint8Array(1_024);
  #rooms = new Uint8Array(1_024);
  #starts = new Float64Array(1_024);
  #count = 0;
  readonly #pieces: Float64Array[] = [];
  #used = PIECE;

  /** Estimated memory, bytes. */
  get bytes(): number {
    return ROW_BYTES * this.#count + 8 * Math.max(0, (this.#pieces.length - 1) * PIECE + this.#used);
  }

  add(record: PointRecord): void {
    record.each(this.#lay);
  }

  /** Returns whether there are rows of a series. */
  has(series: number): boolean {
    return this.#newest.has(series);
  }

  /** Returns the current rows of a series, in no order. */
  rows(series: number): RowSlots[] {
    const rows: RowSlots[] = [];
    for (let at = this.#newest.get(series) ?? NONE; at !== NONE; at = this.#before[at] as number)
      rows.push(this.#at(at));
    return rows;
  }

  /** Yields all rows, grouped by series, in batches of about `most`. */
  *inBatches(most: number): Iterable<readonly RowSlots[]> {
    let batch: RowSlots[] = [];
    for (const series of this.#newest.keys()) {
      batch.push(...this.rows(series));
      if (batch.length < most) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  readonly #lay: TakeSlots = ({ series, plane, slot }, values, start, end) => {
    const chunk = Math.floor(slot / CHUNK_SLOTS);
    let first = slot - chunk * CHUNK_SLOTS;
    let row = rowOf(series, chunk) + plane;
    for (let i = start; i < end; ) {
      const length = Math.min(end - i, CHUNK_SLOTS - first);
      const at = this.#roomFor(series, row, first, length);
      const begin = this.#starts[at] as number;
      const piece = this.#pieces[Math.floor(begin / PIECE)] as Float64Array;
      layValues(values, piece, (begin % PIECE) + first - (this.#firsts[at] as number), i, i + length);
      i += length;
      first = 0;
      row += PLANES;
    }
  };

  /** Returns the index of the row, with room for `length` slots from the slot `first` of its chunk. */
  #roomFor(series: number, row: number, first: number, length: number): number {
    const newest = this.#newest.get(series) ?? NONE;
    let at = newest;
    while (at !== NONE && this.#rows[at] !== row) at = this.#before[at] as number;
    if (at === NONE) {
      at = this.#newPlace();
      this.#rows[at] = row;
      this.#before[at] = newest;
      this.#newest.set(series, at);
      this.#allocate(at, first, Math.min(CHUNK_SLOTS - first, Math.max(ROOM, length)));
      return at;
    }
    const start = this.#firsts[at] as number;
    const room = this.#rooms[at] as number;
    const end = start + room;
    if (first >= start && first + length <= end) return at;
    const { slots } = this.#at(at);
    const from = Math.min(first, start);
    const size = Math.min(CHUNK_SLOTS - from, Math.max(2 * room, Math.max(end, first + length) - from));
    this.#allocate(at, from, size).set(slots, start - from);
    return at;
  }

  #at(at: number): RowSlots {
    const start = this.#starts[at] as number;
    const begin = start % PIECE;
    const piece = this.#pieces[Math.floor(start / PIECE)] as Float64Array;
    return {
      row: this.#rows[at] as number,
      first: this.#firsts[at] as number,
      slots: piece.subarray(begin, begin + (this.#rooms[at] as number)),
    };
  }

  #newPlace(): number {
    const at = this.#count;
    this.#count += 1;
    if (at === this.#rows.length) {
      this.#before = twiceAsLong(this.#before);
      this.#rows = twiceAsLong(this.#rows);
      this.#firsts = twiceAsLong(this.#firsts);
      this.#rooms = twiceAsLong(this.#rooms);
      this.#starts = twiceAsLong(this.#starts);
    }
    return at;
  }

  /** Allocates `size` empty slots to a row, from the slot `first` of its chunk. Its previous slots are left unused. */
  #allocate(at: number, first: number, size: number): Float64Array {
    if (this.#used + size > PIECE) {
      this.#pieces.push(new Float64Array(PIECE));
      this.#used = 0;
    }
    const piece = this.#pieces[this.#pieces.length - 1] as Float64Array;
    const begin = this.#used;
    this.#used += size;
    this.#firsts[at] = first;
    this.#rooms[at] = size;
    this.#starts[at] = (this.#pieces.length - 1) * PIECE + begin;
    return piece.subarray(begin, this.#used).fill(Number.NaN);
  }
}

function twiceAsLong<T extends Int32Array | Float64Array | Uint8Array>(list: T): T {
  const longer = new (list.constructor as new (length: number) => T)(2 * list.length);
  longer.set(list);
  return longer;
}
