import { type Plane, planes } from "../../metrics/ports.js";
import { CHECKSUM, checksumOf, signed } from "./checksum.js";
import type { Database } from "./connection.js";

/** A chunk is this many slots of one series, aligned to multiples of it: a week of hourly slots. */
export const CHUNK_SLOTS = 168;

/**
 * A row of `chunk` holds slots of one plane and one chunk, from the first saved one to the last: `first` says which slot of the chunk that is,
 * `slots` are little-endian doubles, NaN where nothing is saved. Its id is (the series' id × CHUNKS + the number of the chunk,
 * counted from 1970) × PLANES + the number of the plane, and `sum` is the checksum of all of it.
 * In the index on the id the chunks of a series lie together, and both planes of a chunk. The rows
 * themselves lie in the order in which they were first written. What is written at one time lies side by side then, and a fold, or a week of many series,
 * writes few pages.
 */
export const chunkSchema = `CREATE TABLE IF NOT EXISTS chunk (
    id INTEGER NOT NULL UNIQUE, first INTEGER NOT NULL, slots BLOB NOT NULL, sum INTEGER NOT NULL
  )`;

/** Eleven rows of a whole chunk take 92 % of a page of this size. In one of 8 KiB there is room for five: 83 %. */
export const CHUNK_PAGE_BYTES = 16_384;

/** Room for the chunks of one series: a thousand years of them at the least. */
export const CHUNKS = 2 ** 20;

/** The recorder's row of a chunk comes first, and the clients' is laid over it. */
export const PLANES = planes.length;
export const planeNumber: Readonly<Record<Plane, number>> = { recorder: 0, clients: 1 };

/** Id of the first row of a chunk of a series. */
export function rowOf(series: number, chunk: number): number {
  return (series * CHUNKS + chunk) * PLANES;
}

/** Number of the chunk, counted from 1970, that a row of a series holds a plane of. */
export function chunkOf(row: number, series: number): number {
  return Math.floor(row / PLANES) - series * CHUNKS;
}

/** Which series (its id) and plane a row is of, and the first slot of its chunk, counted from 1970. */
export function placeOfRow(row: number): { readonly series: number; readonly plane: number; readonly slot: number } {
  const series = Math.floor(row / PLANES / CHUNKS);
  return { series, plane: row % PLANES, slot: chunkOf(row, series) * CHUNK_SLOTS };
}

/** A selected row of `chunk`. A damaged row may contain values of any type. */
export interface SlotRow {
  readonly row: number;
  readonly first: unknown;
  readonly slots: unknown;
  readonly sum: unknown;
}

/** The columns of a `SlotRow`. A number that is out of bounds may be too large for the driver. */
export const SLOT_ROW = `id AS row, iif(first BETWEEN 0 AND ${CHUNK_SLOTS}, first, NULL) AS first, slots, ${CHECKSUM}`;

/** Slots of one row of `chunk`, or such as are to be laid over it: from the slot `first` of the chunk on, NaN where nothing is said. */
export interface RowSlots {
  readonly row: number;
  readonly first: number;
  readonly slots: Float64Array;
}

/** A row of `chunk` that cannot be read. */
export class DamagedRow extends Error {
  override readonly name = "DamagedRow";
  /** Its id. */
  readonly row: number;

  constructor(row: number) {
    super(
      `Row ${row} of the table chunk in metrics.db is damaged: stop the service, and put back a backup of the file or remove the row (DELETE FROM chunk WHERE id = ${row}), which loses up to ${CHUNK_SLOTS} slots of one series`,
    );
    this.row = row;
  }
}

/** The row with a copy of its doubles (a blob need not be aligned to 8 bytes). Throws `DamagedRow`. */
export function slotsOf({ row, first, slots, sum }: SlotRow): RowSlots {
  if (typeof first !== "number" || !(slots instanceof Uint8Array) || checksumOf(row, first, slots) !== sum)
    throw new DamagedRow(row);
  const end = first + slots.byteLength / 8;
  if (!Number.isInteger(end) || end > CHUNK_SLOTS) throw new DamagedRow(row);
  const values = new Float64Array(new Uint8Array(slots).buffer);
  if (hasInfinity(values)) throw new DamagedRow(row);
  return { row, first, slots: values };
}

/** Whether a value is neither finite nor NaN, which is a slot without a value. */
export function hasInfinity(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i += 1)
    if (Math.abs(values[i] as number) === Number.POSITIVE_INFINITY) return true;
  return false;
}

/** Lays values [start, end) over those of a column, from `at` on; NaN leaves a slot as it is. */
export function layValues(
  values: Float64Array,
  column: Float64Array,
  at: number,
  start = 0,
  end = values.length,
): void {
  for (let i = start; i < end; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) column[at + i - start] = value;
  }
}

/**
 * Lays values over a row of `chunk`, from the slot `at` of the chunk on, inside the caller's transaction; NaN leaves a slot as it is. The kept row is
 * read only when it can matter. Throws `DamagedRow` when it cannot be read; nothing is written then.
 */
export function chunkWriter(db: Database): (row: number, values: Float64Array, at: number) => void {
  const readChunk = db.prepare(`SELECT ${SLOT_ROW} FROM chunk WHERE id = ?`);
  const writeChunk = db.prepare(
    `INSERT INTO chunk VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET first = excluded.first, slots = excluded.slots, sum = excluded.sum`,
  );

  function kept(row: number): RowSlots | undefined {
    const found = readChunk.get(row) as SlotRow | undefined;
    return found && slotsOf(found);
  }

  return (row, values, at) => {
    const laid = layOver(() => kept(row), values, at);
    if (laid === undefined) return;
    const bytes = new Uint8Array(laid.slots.buffer);
    writeChunk.run(row, laid.first, bytes, signed(checksumOf(row, laid.first, bytes)));
  };
}

/** What a row holds when `values`, which begin at the slot `at` of the chunk, are laid over it. Undefined when the values say nothing. */
function layOver(
  kept: () => RowSlots | undefined,
  values: Float64Array,
  at: number,
): Pick<RowSlots, "first" | "slots"> | undefined {
  const { start, end } = saidSlots(values);
  if (start === end) return undefined;
  const isWhole = end - start === CHUNK_SLOTS && !values.some(Number.isNaN);
  const row = isWhole ? undefined : kept();
  const first = Math.min(at + start, row?.first ?? CHUNK_SLOTS);
  const last = Math.max(at + end, row === undefined ? 0 : row.first + row.slots.length);
  const slots = new Float64Array(last - first).fill(Number.NaN);
  if (row !== undefined) slots.set(row.slots, row.first - first);
  layValues(values, slots, at + start - first, start, end);
  return { first, slots };
}

/** Where the values begin and end that are not NaN; `start` is `end` when there are none. */
export function saidSlots(values: Float64Array): { start: number; end: number } {
  let start = 0;
  let end = values.length;
  while (start < end && Number.isNaN(values[start])) start += 1;
  while (start < end && Number.isNaN(values[end - 1])) end -= 1;
  return { start, end };
}
