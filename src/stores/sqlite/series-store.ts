import { setImmediate } from "node:timers/promises";
import { type Plane, planes, type SeriesStore, type SeriesWindow } from "../../metrics/ports.js";
import type { SlotColumn } from "../../metrics/series.js";
import { type Database, inTransaction } from "./connection.js";
import { type SeriesIds, seriesIdSchema, seriesIds, seriesList } from "./series-ids.js";

/** A chunk is this many slots of one series, aligned to multiples of it: a week of hourly slots. */
export const CHUNK_SLOTS = 168;

/**
 * A row of `chunk` holds those of CHUNK_SLOTS slots of one plane that lie between the first and the last saved one: `first` says where
 * they begin, `slots` are little-endian doubles, NaN where nothing is saved. Its id is (the series' id × CHUNKS + the number of the chunk,
 * counted from 1970) × PLANES + the number of the plane, so that the chunks of a series lie together, and both planes of a chunk.
 */
const chunkSchema =
  "CREATE TABLE IF NOT EXISTS chunk (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, slots BLOB NOT NULL)";

export const seriesSchema = `${seriesIdSchema}; ${chunkSchema}`;

/** Room for the chunks of one series: a thousand years of them at the least. */
const CHUNKS = 2 ** 20;

/** The recorder's row of a chunk comes first, and the clients' is laid over it. */
const PLANES = planes.length;
const planeNumber: Readonly<Record<Plane, number>> = { recorder: 0, clients: 1 };

/** Rows removed in one transaction: other requests run in between. */
const EXPIRED_AT_ONCE = 2_000;

/** Slots read before other requests run, and what a window counts for besides its slots. */
const READ_AT_ONCE = 200_000;
const WINDOW_COST = 500;

/** Series in `metrics.db`. */
export function sqliteSeriesStore(db: Database): SeriesStore {
  const ids = seriesIds(db);
  const readWindow = windowReader(db, ids);
  const writeColumn = columnWriter(db, ids);
  const expireChunks = db.prepare(
    "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= ? AND id < ? LIMIT ?)",
  );
  const removeEmpty = db.prepare(
    "DELETE FROM series WHERE id = ? AND NOT EXISTS (SELECT 1 FROM chunk WHERE id >= ? AND id < ?)",
  );

  return {
    chunkSlots: CHUNK_SLOTS,

    async write(plane, columns) {
      try {
        inTransaction(db, () => {
          for (const column of columns) writeColumn(plane, column);
        });
      } catch (error) {
        ids.forget();
        throw error;
      }
    },

    async read(windows, plane) {
      const columns: Float64Array[] = [];
      let work = 0;
      for (const window of windows) {
        const column = readWindow(window, plane);
        columns.push(column);
        work += column.length + WINDOW_COST;
        if (work > READ_AT_ONCE) {
          work = 0;
          await setImmediate();
        }
      }
      return columns;
    },

    mayHold: (series) => ids.find(series) !== undefined,

    list: seriesList(db, CHUNKS * PLANES),

    async expire(before) {
      for (const { id, slotMs } of ids.all()) {
        const end = Math.min(CHUNKS, Math.max(0, Math.floor(before / slotMs / CHUNK_SLOTS)));
        let removed: number;
        do {
          removed = Number(expireChunks.run(rowOf(id, 0), rowOf(id, end), EXPIRED_AT_ONCE).changes);
          await setImmediate();
        } while (removed === EXPIRED_AT_ONCE);
        if (Number(removeEmpty.run(id, rowOf(id, 0), rowOf(id + 1, 0)).changes) > 0) ids.forget();
      }
    },
  };
}

/** Reads the slots of one window into a column: of one plane, or of both. */
function windowReader(db: Database, ids: SeriesIds): (window: SeriesWindow, plane?: Plane) => Float64Array {
  const readChunks = db.prepare("SELECT id, first, slots FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id");

  return (window, plane) => {
    const { series, from, to } = window;
    const column = new Float64Array((to - from) / series.dimension.slotMs).fill(Number.NaN);
    const id = ids.find(series);
    if (id === undefined || column.length === 0) return column;
    const { first, last } = chunksOf(window);
    let laid = -1;
    for (const row of readChunks.all(rowOf(id, first), rowOf(id, last + 1) - 1) as (SlotRow & { id: number })[]) {
      if (plane !== undefined && row.id % PLANES !== planeNumber[plane]) continue;
      const chunk = chunkOf(row.id, id);
      const slots = slotsOf(row);
      const start = chunk * CHUNK_SLOTS + row.first - from / series.dimension.slotMs;
      const skip = Math.max(0, -start);
      if (skip >= slots.length || start >= column.length) continue;
      const part = slots.subarray(skip, column.length - start);
      if (chunk === laid) layValues(part, column, start + skip);
      else column.set(part, start + skip);
      laid = chunk;
    }
    return column;
  };
}

/** Lays values over those of a column from `at` on; NaN leaves a slot as it is. */
function layValues(values: Float64Array, column: Float64Array, at: number): void {
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) column[at + i] = value;
  }
}

/** Lays a column over the chunks that it touches, inside the caller's transaction. */
function columnWriter(db: Database, ids: SeriesIds): (plane: Plane, column: SlotColumn) => void {
  const readChunk = db.prepare("SELECT first, slots FROM chunk WHERE id = ?");
  const writeChunk = db.prepare(
    "INSERT INTO chunk VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET first = excluded.first, slots = excluded.slots",
  );

  return (plane, { series, from, values }) => {
    const { slotMs } = series.dimension;
    const { first, last } = chunksOf({ series, from, to: from + values.length * slotMs });
    const id = ids.findOrAdd(series);
    for (let chunk = first; chunk <= last; chunk += 1) {
      const start = chunk * CHUNK_SLOTS - from / slotMs;
      const part = values.subarray(Math.max(0, start), start + CHUNK_SLOTS);
      const rowId = rowOf(id, chunk) + planeNumber[plane];
      const row = layOver(() => readChunk.get(rowId) as SlotRow | undefined, part, Math.max(0, -start));
      if (row !== undefined) writeChunk.run(rowId, row.first, row.slots);
    }
  };
}

/** Numbers of the first and the last chunk that can hold something of the window. */
function chunksOf({ series, from, to }: SeriesWindow): { first: number; last: number } {
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  return { first: Math.max(0, Math.floor(from / length)), last: Math.min(CHUNKS, Math.ceil(to / length)) - 1 };
}

/** Id of the first row of a chunk of a series. */
export function rowOf(series: number, chunk: number): number {
  return (series * CHUNKS + chunk) * PLANES;
}

/** Number of the chunk, counted from 1970, that a row of a series holds a plane of. */
export function chunkOf(row: number, series: number): number {
  return Math.floor(row / PLANES) - series * CHUNKS;
}

/** Slots of a chunk as a row keeps them: from the slot `first` of the chunk on. */
interface SlotRow {
  readonly first: number;
  readonly slots: Uint8Array;
}

/** A copy of the row's doubles (a blob need not be aligned to 8 bytes). */
function slotsOf({ slots }: SlotRow): Float64Array {
  const copy = new Uint8Array(slots.byteLength);
  copy.set(slots);
  return new Float64Array(copy.buffer);
}

/**
 * What a row holds when `values`, which begin at the slot `at` of the chunk, are laid over it; NaN leaves a slot as it is.
 * Undefined when the values say nothing. The kept row is asked for only when it can matter.
 */
function layOver(kept: () => SlotRow | undefined, values: Float64Array, at: number): SlotRow | undefined {
  let start = 0;
  let end = values.length;
  while (start < end && Number.isNaN(values[start])) start += 1;
  while (start < end && Number.isNaN(values[end - 1])) end -= 1;
  if (start === end) return undefined;
  const isWhole = end - start === CHUNK_SLOTS && !values.some(Number.isNaN);
  const row = isWhole ? undefined : kept();
  const first = Math.min(at + start, row?.first ?? CHUNK_SLOTS);
  const last = Math.max(at + end, row === undefined ? 0 : row.first + row.slots.byteLength / 8);
  const slots = new Float64Array(last - first).fill(Number.NaN);
  if (row !== undefined) slots.set(slotsOf(row), row.first - first);
  for (let i = start; i < end; i += 1) {
    const value = values[i] as number;
    if (!Number.isNaN(value)) slots[at + i - first] = value;
  }
  return { first, slots: new Uint8Array(slots.buffer) };
}
