import { CHUNK_SLOTS, overlay, type RowSlots, rowOf, SOURCES } from "./chunks.js";
import type { PointRecord, TakeSlots } from "./journal-table.js";

/** Initial capacity of a row, slots; it doubles when full. */
const MIN_CAPACITY = 8;

/** Memory of a row besides its slots: its place in the lists and in the map. */
const ROW_BYTES = 70;

/** Slots are allocated from blocks of this many doubles. */
const BLOCK_SLOTS = 2 ** 17;

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
  #capacities = new Uint8Array(1_024);
  #starts = new Float64Array(1_024);
  #count = 0;
  readonly #blocks: Float64Array[] = [];
  #used = BLOCK_SLOTS;

  /** Estimated memory, bytes. */
  get bytes(): number {
    return ROW_BYTES * this.#count + 8 * Math.max(0, (this.#blocks.length - 1) * BLOCK_SLOTS + this.#used);
  }

  add(record: PointRecord): void {
    record.each(this.#put);
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

  readonly #put: TakeSlots = ({ series, source, slot }, values, start, end) => {
    const chunk = Math.floor(slot / CHUNK_SLOTS);
    let first = slot - chunk * CHUNK_SLOTS;
    let row = rowOf(series, chunk) + source;
    for (let i = start; i < end; ) {
      const length = Math.min(end - i, CHUNK_SLOTS - first);
      const at = this.#rowWithRoom(series, row, first, length);
      const begin = this.#starts[at] as number;
      const block = this.#blocks[Math.floor(begin / BLOCK_SLOTS)] as Float64Array;
      overlay(values, block, (begin % BLOCK_SLOTS) + first - (this.#firsts[at] as number), i, i + length);
      i += length;
      first = 0;
      row += SOURCES;
    }
  };

  /** Returns the index of the row, with room for `length` slots from the slot `first` of its chunk. */
  #rowWithRoom(series: number, row: number, first: number, length: number): number {
    const newest = this.#newest.get(series) ?? NONE;
    let at = newest;
    while (at !== NONE && this.#rows[at] !== row) at = this.#before[at] as number;
    if (at === NONE) {
      at = this.#addRow();
      this.#rows[at] = row;
      this.#before[at] = newest;
      this.#newest.set(series, at);
      this.#allocate(at, first, Math.min(CHUNK_SLOTS - first, Math.max(MIN_CAPACITY, length)));
      return at;
    }
    const start = this.#firsts[at] as number;
    const capacity = this.#capacities[at] as number;
    const end = start + capacity;
    if (first >= start && first + length <= end) return at;
    const { slots } = this.#at(at);
    const from = Math.min(first, start);
    const size = Math.min(CHUNK_SLOTS - from, Math.max(2 * capacity, Math.max(end, first + length) - from));
    this.#allocate(at, from, size).set(slots, start - from);
    return at;
  }

  #at(at: number): RowSlots {
    const start = this.#starts[at] as number;
    const begin = start % BLOCK_SLOTS;
    const block = this.#blocks[Math.floor(start / BLOCK_SLOTS)] as Float64Array;
    return {
      row: this.#rows[at] as number,
      first: this.#firsts[at] as number,
      slots: block.subarray(begin, begin + (this.#capacities[at] as number)),
    };
  }

  #addRow(): number {
    const at = this.#count;
    this.#count += 1;
    if (at === this.#rows.length) {
      this.#before = twiceAsLong(this.#before);
      this.#rows = twiceAsLong(this.#rows);
      this.#firsts = twiceAsLong(this.#firsts);
      this.#capacities = twiceAsLong(this.#capacities);
      this.#starts = twiceAsLong(this.#starts);
    }
    return at;
  }

  /** Allocates `size` empty slots to a row, from the slot `first` of its chunk. Its previous slots are left unused. */
  #allocate(at: number, first: number, size: number): Float64Array {
    if (this.#used + size > BLOCK_SLOTS) {
      this.#blocks.push(new Float64Array(BLOCK_SLOTS));
      this.#used = 0;
    }
    const block = this.#blocks[this.#blocks.length - 1] as Float64Array;
    const begin = this.#used;
    this.#used += size;
    this.#firsts[at] = first;
    this.#capacities[at] = size;
    this.#starts[at] = (this.#blocks.length - 1) * BLOCK_SLOTS + begin;
    return block.subarray(begin, this.#used).fill(Number.NaN);
  }
}

function twiceAsLong<T extends Int32Array | Float64Array | Uint8Array>(list: T): T {
  const longer = new (list.constructor as new (length: number) => T)(2 * list.length);
  longer.set(list);
  return longer;
}
