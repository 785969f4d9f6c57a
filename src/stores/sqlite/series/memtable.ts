import { CHUNK_SLOTS, eachChunk, overlay, type RowSlots } from "./chunks.js";
import type { TakeSlots } from "./journal-table.js";

/** Initial capacity of a row, slots; it at least doubles when full. */
const MIN_CAPACITY = 8;

/** Memory of a row besides its slots, measured. */
const ROW_BYTES = 350;

/** Slots that are written, by series (its id) and row of `chunk`; the later of two values of a slot wins. */
export class Memtable {
  /** Rows of each series, in no order. */
  readonly #series = new Map<number, RowSlots[]>();
  #bytes = 0;

  /** Estimated memory, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns whether there are rows of a series. */
  has(series: number): boolean {
    return this.#series.has(series);
  }

  /** Returns the current rows of a series, in no order. */
  rows(series: number): readonly RowSlots[] {
    return this.#series.get(series) ?? [];
  }

  /** Yields all rows, grouped by series. */
  *all(): Iterable<RowSlots> {
    for (const rows of this.#series.values()) yield* rows;
  }

  /** Adds the slots of values [start, end). */
  readonly add: TakeSlots = (place, values, start, end) => {
    eachChunk(place, start, end, (row, first, from, to) => {
      const room = this.#roomIn(place.series, row, first, first + to - from);
      overlay(values, room.slots, first - room.first, from, to);
    });
  };

  /** Returns the row with room for the slots [first, end) of its chunk. */
  #roomIn(series: number, row: number, first: number, end: number): RowSlots {
    const rows = this.#series.get(series);
    const at = rows?.findIndex((other) => other.row === row) ?? -1;
    const old = rows?.[at];
    const from = Math.min(first, old?.first ?? first);
    const to = Math.max(end, old === undefined ? 0 : old.first + old.slots.length);
    if (old !== undefined && to - from === old.slots.length) return old;
    const capacity = Math.max(to - from, old === undefined ? MIN_CAPACITY : 2 * old.slots.length);
    const slots = new Float64Array(Math.min(CHUNK_SLOTS - from, capacity)).fill(Number.NaN);
    if (old !== undefined) slots.set(old.slots, old.first - from);
    const larger = { row, first: from, slots };
    if (rows === undefined) this.#series.set(series, [larger]);
    else rows[at < 0 ? rows.length : at] = larger;
    this.#bytes += 8 * (slots.length - (old?.slots.length ?? 0)) + (old === undefined ? ROW_BYTES : 0);
    return larger;
  }
}
