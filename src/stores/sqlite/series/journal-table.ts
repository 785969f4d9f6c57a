import { StartError } from "../../../errors.js";
import { CHECKSUM, checksumOf, signed } from "../checksum.js";
import type { Database } from "../connection.js";
import { CHUNK_SLOTS, CHUNKS, type SlotPlace, SOURCES } from "./chunks.js";

/**
 * Slots in the order of their writes, a row per commit, until they are folded into `chunk`; `sum` is the row's
 * checksum.
 */
export const journalSchema =
  "CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY, record BLOB NOT NULL, sum INTEGER NOT NULL)";

/** The table `journal` of `metrics.db`. */
interface JournalTable {
  /** Appends a record inside the caller's transaction. Returns its id, which increases as long as the file is open. */
  append(record: PointRecord): number;
  /** Returns all records with their ids, oldest first. Throws a `StartError` if one is damaged. */
  all(): Iterable<{ readonly id: number; readonly record: PointRecord }>;
  /** Removes the records up to this id: 32 MiB take 10 to 17 ms. */
  remove(upTo: number): void;
}

export function journalTable(db: Database): JournalTable {
  let { last } = db.prepare("SELECT coalesce(max(id), 0) AS last FROM journal").get() as { last: number };
  const insert = db.prepare("INSERT INTO journal (id, record, sum) VALUES (?, ?, ?)");
  // One scan: a damaged id may be out of order, and a search for the next one would miss rows.
  const select = db.prepare(`SELECT id, record, ${CHECKSUM} FROM journal ORDER BY id`);
  const remove = db.prepare("DELETE FROM journal WHERE id <= ?");

  return {
    append(record) {
      last += 1;
      const bytes = record.toBytes();
      insert.run(last, bytes, signed(checksumOf(last, 0, bytes)));
      return last;
    },
    *all() {
      for (const row of select.iterate() as Iterable<JournalRow>)
        yield { id: row.id, record: PointRecord.fromRow(row) };
    },
    remove(upTo) {
      remove.run(upTo);
    },
  };
}

/** A damaged row may contain values of any type. */
interface JournalRow {
  readonly id: number;
  readonly record: unknown;
  readonly sum: unknown;
}

/** The slots of values [start, end). NaN is a slot without a value. */
export interface PlacedSlots extends SlotPlace {
  readonly values: Float64Array;
  readonly start: number;
  readonly end: number;
}

/** Receives values [start, end) of a record. */
export type TakeSlots = (place: SlotPlace, values: Float64Array, start: number, end: number) => void;

/** Numbers per column of a record, without its values. */
const HEAD = 2;

/** Maximum numbers of a slot and of a series, which one double holds together. */
const SLOTS_ROOM = 2 ** Math.ceil(Math.log2(CHUNKS * CHUNK_SLOTS));
const SERIES_ROOM = Number.MAX_SAFE_INTEGER / SLOTS_ROOM - 1;

/**
 * Columns in the form of a journal row, little-endian doubles: the number of columns; for each column the series' id ×
 * SLOTS_ROOM + the first slot, and its number of slots × SOURCES + the number of the source; then the values of all
 * columns.
 */
export class PointRecord {
  readonly #doubles: Float64Array;

  private constructor(doubles: Float64Array) {
    this.#doubles = doubles;
  }

  /** Returns the record of these slots, in their order; undefined if there are none. */
  static of(columns: readonly PlacedSlots[]): PointRecord | undefined {
    if (columns.length === 0) return undefined;
    const slots = columns.reduce((sum, { start, end }) => sum + end - start, 0);
    let head = 1;
    let at = 1 + columns.length * HEAD;
    const doubles = new Float64Array(at + slots);
    doubles[0] = columns.length;
    for (const { series, source, slot, values, start, end } of columns) {
      doubles[head] = placeOf(series, slot);
      doubles[head + 1] = (end - start) * SOURCES + source;
      head += HEAD;
      for (let i = start; i < end; i += 1, at += 1) doubles[at] = values[i] as number;
    }
    return new PointRecord(doubles);
  }

  /** Throws a `StartError` if the row is damaged. */
  static fromRow({ id, record, sum }: JournalRow): PointRecord {
    // A blob need not be aligned to 8 bytes.
    if (record instanceof Uint8Array && checksumOf(id, 0, record) === sum)
      return new PointRecord(new Float64Array(new Uint8Array(record).buffer));
    throw new StartError(
      `Row ${id} of the table journal in metrics.db is damaged: put back a backup of the file, or remove the row (DELETE FROM journal WHERE id = ${id}), which loses the points of one write`,
    );
  }

  toBytes(): Uint8Array {
    return new Uint8Array(this.#doubles.buffer);
  }

  get byteLength(): number {
    return this.#doubles.byteLength;
  }

  /** Passes the columns to `take`, in their order. */
  each(take: TakeSlots): void {
    const doubles = this.#doubles;
    const count = doubles[0] as number;
    let at = 1 + count * HEAD;
    for (let head = 1; head <= count * HEAD; head += HEAD) {
      const place = doubles[head] as number;
      const length = doubles[head + 1] as number;
      const end = at + Math.floor(length / SOURCES);
      take(
        { series: Math.floor(place / SLOTS_ROOM), source: length % SOURCES, slot: place % SLOTS_ROOM },
        doubles,
        at,
        end,
      );
      at = end;
    }
  }
}

/** Returns a number for a slot of a series (its id), the slot counted from 1970. */
export function placeOf(series: number, slot: number): number {
  if (series > SERIES_ROOM) throw new RangeError("metrics.db has no room for another series");
  return series * SLOTS_ROOM + slot;
}
