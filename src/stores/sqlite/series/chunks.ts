import { type ValueSource, valueSources } from "../../../metrics/ports.js";
import { CHECKSUM, checksumOf, signed } from "../checksum.js";
import { decodeSlots, encodeSlots } from "./slot-codec.js";

/** Slots per chunk: a week of hourly slots. Chunks of a series are aligned to multiples of it. */
export const CHUNK_SLOTS = 168;

/**
 * A row of `chunk` holds slots of one source and one chunk, from the first saved slot to the last: `first` is the
 * position of the first slot in the chunk, `slots` are the values in the form of `encodeSlots`. Its id is
 * (the series' id × CHUNKS + the number of the chunk, counted from 1970) × SOURCES + the number of the source; `sum` is
 * the checksum of the row. The index on the id keeps the chunks of a series, and all sources of a chunk, next to each
 * other. The rows themselves are stored in the order of their first write. Values written at one time are therefore
 * neighbours, and a fold, or a week of many series, writes few pages.
 */
export const chunkSchema = `CREATE TABLE IF NOT EXISTS chunk (
    id INTEGER NOT NULL UNIQUE, first INTEGER NOT NULL, slots BLOB NOT NULL, sum INTEGER NOT NULL
  )`;

/** Maximum chunks per series: at least a thousand years. */
export const CHUNKS = 2 ** 20;

/** Rows of a chunk are in this order; a later one takes precedence. */
export const SOURCES = valueSources.length;
export const sourceNumber: Readonly<Record<ValueSource, number>> = { recorder: 0, added: 1, clients: 2 };

/** Returns the id of the first row of a chunk of a series. */
export function rowOf(series: number, chunk: number): number {
  return (series * CHUNKS + chunk) * SOURCES;
}

/** Returns the number of the row's chunk, counted from 1970. */
export function chunkOf(row: number, series: number): number {
  return Math.floor(row / SOURCES) - series * CHUNKS;
}

/** Returns a row's series (its id), its source, and the first slot of its chunk, counted from 1970. */
export function placeOfRow(row: number): SlotPlace {
  const series = Math.floor(row / SOURCES / CHUNKS);
  return { series, source: row % SOURCES, slot: chunkOf(row, series) * CHUNK_SLOTS };
}

/** Place of slots: id of the series, number of the source, and number of the first slot, counted from 1970. */
export interface SlotPlace {
  readonly series: number;
  readonly source: number;
  readonly slot: number;
}

/**
 * Divides values [start, end), whose first slot is at `place`, by chunks: calls `write` with the row of each chunk, the
 * position of the first slot in the chunk, and the range of its values.
 */
export function eachChunk(
  { series, source, slot }: SlotPlace,
  start: number,
  end: number,
  write: (row: number, first: number, from: number, to: number) => void,
): void {
  const chunk = Math.floor(slot / CHUNK_SLOTS);
  let first = slot - chunk * CHUNK_SLOTS;
  let row = rowOf(series, chunk) + source;
  for (let from = start; from < end; ) {
    const to = Math.min(end, from + CHUNK_SLOTS - first);
    write(row, first, from, to);
    from = to;
    first = 0;
    row += SOURCES;
  }
}

/** A selected row of `chunk`. A damaged row may contain values of any type. */
export interface SlotRow {
  readonly row: number;
  readonly first: unknown;
  readonly slots: unknown;
  readonly sum: unknown;
}

/** Columns of a `SlotRow`. A number that is out of bounds may be too large for the driver. */
export const SLOT_ROW = `chunk.id AS row, iif(first BETWEEN 0 AND ${CHUNK_SLOTS}, first, NULL) AS first, slots, ${CHECKSUM}`;

/**
 * Slots of one row of `chunk`, stored or to be written: from the slot `first` of the chunk, NaN where there is no
 * value.
 */
export interface RowSlots {
  readonly row: number;
  readonly first: number;
  readonly slots: Float64Array;
}

/** Rows of one series that cannot be read. The message names the repair. */
export class DamagedRow extends Error {
  override readonly name = "DamagedRow";

  /** The error for a row whose contents are damaged. */
  static of(row: number): DamagedRow {
    return new DamagedRow(
      `Row ${row} of the table chunk in metrics.db is damaged: stop the service, and put back a backup of the file or ${emptied(row)}`,
    );
  }

  /** The error for a row that is listed and not found. */
  static missing(row: number): DamagedRow {
    return new DamagedRow(
      `Row ${row} of the table chunk in metrics.db is missing: stop the service, and rebuild the index (REINDEX chunk), put back a backup of the file or ${emptied(row)}`,
    );
  }
}

/** Returns the advice to replace a row by one without values. */
function emptied(row: number): string {
  const bytes = encodeSlots(Float64Array.of(Number.NaN));
  const values = `${row}, 0, x'${Buffer.from(bytes).toString("hex")}', ${signed(checksumOf(row, 0, bytes))}`;
  return `empty the row (REPLACE INTO chunk VALUES (${values})), which loses up to ${CHUNK_SLOTS} slots of one series`;
}

/**
 * Returns the slots of a row. They are in memory that the next call reuses. Throws `DamagedRow`.
 */
export function slotsOf({ row, first, slots, sum }: SlotRow): RowSlots {
  if (typeof first !== "number" || !(slots instanceof Uint8Array) || checksumOf(row, first, slots) !== sum)
    throw DamagedRow.of(row);
  return { row, first, slots: decoded.subarray(0, decodeSlots(slots, decoded)) };
}

const decoded = new Float64Array(CHUNK_SLOTS);

/** Writes values [start, end) into a column, from `at`; NaN leaves a slot unchanged. */
export function overlay(values: Float64Array, column: Float64Array, at: number, start = 0, end = values.length): void {
  for (let i = start; i < end; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) column[at + i - start] = value;
  }
}

/** Returns the range of values that are not NaN; `start` equals `end` if there are none. */
export function savedRange(values: Float64Array): { start: number; end: number } {
  let start = 0;
  let end = values.length;
  while (start < end && Number.isNaN(values[start])) start += 1;
  while (start < end && Number.isNaN(values[end - 1])) end -= 1;
  return { start, end };
}
