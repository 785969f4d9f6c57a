import { type Plane, planes } from "../../metrics/ports.js";
import type { Database } from "./connection.js";

/** A chunk is this many slots of one series, aligned to multiples of it: a week of hourly slots. */
export const CHUNK_SLOTS = 168;

/**
 * A row of `chunk` holds those of CHUNK_SLOTS slots of one plane that lie between the first and the last saved one: `first` says where
 * they begin, `slots` are little-endian doubles, NaN where nothing is saved. Its id is (the series' id × CHUNKS + the number of the chunk,
 * counted from 1970) × PLANES + the number of the plane, so that the chunks of a series lie together, and both planes of a chunk.
 */
export const chunkSchema =
  "CREATE TABLE IF NOT EXISTS chunk (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, slots BLOB NOT NULL)";

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

/** Slots of a chunk as a row keeps them: from the slot `first` of the chunk on. */
export interface SlotRow {
  readonly first: number;
  readonly slots: Uint8Array;
}

/** A copy of the row's doubles (a blob need not be aligned to 8 bytes). */
export function slotsOf({ slots }: SlotRow): Float64Array {
  const copy = new Uint8Array(slots.byteLength);
  copy.set(slots);
  return new Float64Array(copy.buffer);
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
 * read only when it can matter.
 */
export function chunkWriter(db: Database): (row: number, values: Float64Array, at: number) => void {
  const readChunk = db.prepare("SELECT first, slots FROM chunk WHERE id = ?");
  const writeChunk = db.prepare(
    "INSERT INTO chunk VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET first = excluded.first, slots = excluded.slots",
  );

  return (row, values, at) => {
    const laid = layOver(() => readChunk.get(row) as SlotRow | undefined, values, at);
    if (laid !== undefined) writeChunk.run(row, laid.first, laid.slots);
  };
}

/** What a row holds when `values`, which begin at the slot `at` of the chunk, are laid over it. Undefined when the values say nothing. */
function layOver(kept: () => SlotRow | undefined, values: Float64Array, at: number): SlotRow | undefined {
  const { start, end } = saidSlots(values);
  if (start === end) return undefined;
  const isWhole = end - start === CHUNK_SLOTS && !values.some(Number.isNaN);
  const row = isWhole ? undefined : kept();
  const first = Math.min(at + start, row?.first ?? CHUNK_SLOTS);
  const last = Math.max(at + end, row === undefined ? 0 : row.first + row.slots.byteLength / 8);
  const slots = new Float64Array(last - first).fill(Number.NaN);
  if (row !== undefined) slots.set(slotsOf(row), row.first - first);
  layValues(values, slots, at + start - first, start, end);
  return { first, slots: new Uint8Array(slots.buffer) };
}

/** Where the values begin and end that are not NaN; `start` is `end` when there are none. */
export function saidSlots(values: Float64Array): { start: number; end: number } {
  let start = 0;
  let end = values.length;
  while (start < end && Number.isNaN(values[start])) start += 1;
  while (start < end && Number.isNaN(values[end - 1])) end -= 1;
  return { start, end };
}
