import type { Plane } from "../../metrics/ports.js";
import type { SlotColumn } from "../../metrics/series.js";
import { CHUNK_SLOTS, CHUNKS, PLANES, planeNumber, saidSlots } from "./chunks.js";
import { type Database, inTransaction } from "./connection.js";
import type { SeriesIds } from "./series-ids.js";

/** Slots as they were written, a row for each commit, until they are folded into `chunk`. */
export const journalSchema =
  "CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY AUTOINCREMENT, record BLOB NOT NULL)";

/** Rows that are read, or removed, at once. */
const ROWS_AT_ONCE = 16;

/** The table `journal` of `metrics.db`. */
export interface PointJournal {
  /** Appends a record inside the caller's transaction. Returns its id, which is higher than those before. */
  append(record: PointRecord): number;
  /** The oldest records after this id, with their ids, in order; none after the last. */
  after(id: number): { readonly id: number; readonly record: PointRecord }[];
  /**
   * Removes the oldest of the records up to this id, in a transaction of its own; false when none of them is left. The oldest go first: when the process
   * dies in between, what is left holds the last value of each slot that it names.
   */
  removeSome(upTo: number): boolean;
}

export function pointJournal(db: Database): PointJournal {
  const insert = db.prepare("INSERT INTO journal (record) VALUES (?)");
  const select = db.prepare(`SELECT id, record FROM journal WHERE id > ? ORDER BY id LIMIT ${ROWS_AT_ONCE}`);
  const remove = db.prepare(
    `DELETE FROM journal WHERE id IN (SELECT id FROM journal WHERE id <= ? ORDER BY id LIMIT ${ROWS_AT_ONCE})`,
  );

  return {
    append: (record) => Number(insert.run(record.toBytes()).lastInsertRowid),
    after: (id) =>
      (select.all(id) as { id: number; record: Uint8Array }[]).map((row) => ({
        id: row.id,
        record: PointRecord.fromBytes(row.record),
      })),
    removeSome: (upTo) => inTransaction(db, () => Number(remove.run(upTo).changes) > 0),
  };
}

/** A column, and the plane that it is written to. */
export interface PlaneColumn {
  readonly plane: Plane;
  readonly column: SlotColumn;
}

/** Takes values [start, end) of a record: slots of one plane of a series (its id), from `slot` on, counted from 1970. NaN says nothing. */
export type TakeSlots = (
  place: { readonly series: number; readonly plane: number; readonly slot: number },
  values: Float64Array,
  start: number,
  end: number,
) => void;

/** Numbers before the values of all columns: one, and HEAD for each column. */
const HEAD = 2;

/** Room for the slots of one series. */
const SLOTS = 2 ** Math.ceil(Math.log2(CHUNKS * CHUNK_SLOTS));

/**
 * Columns as a row of the journal keeps them, little-endian doubles: how many columns there are; for each the series' id × SLOTS + the first
 * slot, and how many slots it has × PLANES + the number of the plane; then the values of all columns.
 */
export class PointRecord {
  readonly #doubles: Float64Array;

  private constructor(doubles: Float64Array) {
    this.#doubles = doubles;
  }

  /**
   * The record of what columns say, in their order; undefined when they say nothing. Adds series that are new, inside the caller's
   * transaction.
   */
  static of(columns: readonly PlaneColumn[], ids: SeriesIds): PointRecord | undefined {
    const said = columns.map(({ column }) => saidSlots(column.values));
    const slots = said.reduce((sum, { start, end }) => sum + end - start, 0);
    const count = said.reduce((sum, { start, end }) => sum + (start < end ? 1 : 0), 0);
    if (count === 0) return undefined;
    const doubles = new Float64Array(1 + count * HEAD + slots);
    doubles[0] = count;
    let head = 1;
    let at = 1 + count * HEAD;
    for (const [i, { start, end }] of said.entries()) {
      if (start === end) continue;
      const { plane, column } = columns[i] as PlaneColumn;
      const { series, from, values } = column;
      doubles[head] = ids.findOrAdd(series) * SLOTS + from / series.dimension.slotMs + start;
      doubles[head + 1] = (end - start) * PLANES + planeNumber[plane];
      head += HEAD;
      for (let k = start; k < end; k += 1) doubles[at++] = values[k] as number;
    }
    return new PointRecord(doubles);
  }

  static fromBytes(bytes: Uint8Array): PointRecord {
    // A blob need not be aligned to 8 bytes.
    return new PointRecord(new Float64Array(bytes.slice().buffer));
  }

  toBytes(): Uint8Array {
    return new Uint8Array(this.#doubles.buffer);
  }

  get byteLength(): number {
    return this.#doubles.byteLength;
  }

  /** Hands out the columns in their order. */
  each(take: TakeSlots): void {
    const doubles = this.#doubles;
    const count = doubles[0] as number;
    let at = 1 + count * HEAD;
    for (let head = 1; head <= count * HEAD; head += HEAD) {
      const place = doubles[head] as number;
      const length = doubles[head + 1] as number;
      const end = at + Math.floor(length / PLANES);
      take({ series: Math.floor(place / SLOTS), plane: length % PLANES, slot: place % SLOTS }, doubles, at, end);
      at = end;
    }
  }
}
