import { CHUNK_SLOTS, layValues, PLANES, rowOf } from "./chunks.js";
import type { PointRecord, TakeSlots } from "./point-journal.js";

/** Slots of the journal that belong to one row of `chunk`: `slots` begin at the slot `first` of the chunk, NaN where nothing is said. */
export interface UnfoldedRow {
  readonly row: number;
  first: number;
  slots: Float64Array;
}

/** Slots of room that a row begins with; it doubles when it is full. */
const ROOM = 8;

/** Memory of a row besides its slots, by estimate. */
const ROW_BYTES = 250;

/** What records of the journal say, by series (its id) and row of `chunk`; of two values of a slot the later stays. */
export class UnfoldedSlots {
  readonly #rows = new Map<number, UnfoldedRow[]>();
  #bytes = 0;

  /** Memory that it takes, by estimate. */
  get bytes(): number {
    return this.#bytes;
  }

  add(record: PointRecord): void {
    record.each(this.#lay);
  }

  /** Whether there are rows of a series. */
  has(series: number): boolean {
    return this.#rows.has(series);
  }

  /** Rows of a series, in no order. */
  rows(series: number): readonly UnfoldedRow[] {
    return this.#rows.get(series) ?? [];
  }

  /** All rows, about `most` at once; those of a series together. */
  *inBatches(most: number): Iterable<readonly UnfoldedRow[]> {
    let batch: UnfoldedRow[] = [];
    for (const rows of this.#rows.values()) {
      batch.push(...rows);
      if (batch.length < most) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  readonly #lay: TakeSlots = ({ series, plane, slot }, values, start, end) => {
    const chunk = Math.floor(slot / CHUNK_SLOTS);
    let at = slot - chunk * CHUNK_SLOTS;
    let row = rowOf(series, chunk) + plane;
    for (let i = start; i < end; ) {
      const length = Math.min(end - i, CHUNK_SLOTS - at);
      const unfolded = this.#room(series, row, at, length);
      layValues(values, unfolded.slots, at - unfolded.first, i, i + length);
      i += length;
      at = 0;
      row += PLANES;
    }
  };

  /** The row, with room for `length` slots from the slot `at` of its chunk on. */
  #room(series: number, row: number, at: number, length: number): UnfoldedRow {
    const rows = this.#rows.get(series);
    const found = rows?.find((one) => one.row === row);
    if (found === undefined) {
      const size = Math.min(CHUNK_SLOTS - at, Math.max(ROOM, length));
      const fresh = { row, first: at, slots: new Float64Array(size).fill(Number.NaN) };
      if (rows === undefined) this.#rows.set(series, [fresh]);
      else rows.push(fresh);
      this.#bytes += ROW_BYTES + 8 * size;
      return fresh;
    }
    const end = found.first + found.slots.length;
    if (at < found.first || at + length > end) {
      const first = Math.min(at, found.first);
      const size = Math.min(CHUNK_SLOTS - first, Math.max(2 * found.slots.length, Math.max(end, at + length) - first));
      const slots = new Float64Array(size).fill(Number.NaN);
      slots.set(found.slots, found.first - first);
      this.#bytes += 8 * (size - found.slots.length);
      found.first = first;
      found.slots = slots;
    }
    return found;
  }
}
