import { setImmediate } from "node:timers/promises";
import type { SlotColumn } from "../../metrics/series.js";
import type { SeriesStore, SeriesWindow } from "../../metrics/series-store.js";
import { type Database, inTransaction } from "./database.js";
import { type SeriesIds, seriesIdSchema, seriesIds } from "./series-ids.js";
import { CHUNK_SLOTS, layOver, type SlotRow, slotsOf } from "./slot-row.js";

/**
 * A row of `chunk` holds those of CHUNK_SLOTS slots that lie between the first and the last saved one: `first` says where they
 * begin, `slots` are little-endian doubles, NaN where nothing is saved. Its id is the series' id × CHUNKS + the number of the
 * chunk, counted from 1970, so that the chunks of a series lie together.
 */
const chunkSchema =
  "CREATE TABLE IF NOT EXISTS chunk (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, slots BLOB NOT NULL)";

export const seriesSchema = `${seriesIdSchema}; ${chunkSchema}`;

/** Room for the chunks of one series: a thousand years of them at the least. */
export const CHUNKS = 2 ** 20;

/** Rows removed in one transaction, so that nobody waits for long. */
const EXPIRED_AT_ONCE = 2_000;

/** Slots read before others get their turn, and what a window counts for besides its slots. */
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

  return {
    chunkSlots: CHUNK_SLOTS,

    async write(columns) {
      try {
        inTransaction(db, () => columns.forEach(writeColumn));
      } catch (error) {
        ids.forget();
        throw error;
      }
    },

    async read(windows) {
      const columns: Float64Array[] = [];
      let work = 0;
      for (const window of windows) {
        const column = readWindow(window);
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

    async expire(before) {
      for (const { id, slotMs } of ids.all()) {
        const end = Math.min(CHUNKS, Math.max(0, Math.floor(before / slotMs / CHUNK_SLOTS)));
        let removed: number;
        do {
          removed = Number(expireChunks.run(id * CHUNKS, id * CHUNKS + end, EXPIRED_AT_ONCE).changes);
          await setImmediate();
        } while (removed === EXPIRED_AT_ONCE);
      }
    },
  };
}

/** Reads the slots of one window into a column. */
function windowReader(db: Database, ids: SeriesIds): (window: SeriesWindow) => Float64Array {
  const readChunks = db.prepare("SELECT id, first, slots FROM chunk WHERE id BETWEEN ? AND ?");

  return (window) => {
    const { series, from, to } = window;
    const column = new Float64Array((to - from) / series.dimension.slotMs).fill(Number.NaN);
    const id = ids.find(series);
    if (id === undefined || column.length === 0) return column;
    const { first, last } = chunksOf(window);
    for (const row of readChunks.all(id * CHUNKS + first, id * CHUNKS + last) as (SlotRow & { id: number })[]) {
      const slots = slotsOf(row);
      const start = (row.id - id * CHUNKS) * CHUNK_SLOTS + row.first - from / series.dimension.slotMs;
      const skip = Math.max(0, -start);
      if (skip < slots.length && start < column.length) {
        column.set(slots.subarray(skip, column.length - start), start + skip);
      }
    }
    return column;
  };
}

/** Lays a column over the chunks that it touches, inside the caller's transaction. */
function columnWriter(db: Database, ids: SeriesIds): (column: SlotColumn) => void {
  const readChunk = db.prepare("SELECT first, slots FROM chunk WHERE id = ?");
  const writeChunk = db.prepare(
    "INSERT INTO chunk VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET first = excluded.first, slots = excluded.slots",
  );

  return ({ series, from, values }) => {
    const { slotMs } = series.dimension;
    const { first, last } = chunksOf({ series, from, to: from + values.length * slotMs });
    const base = ids.findOrAdd(series) * CHUNKS;
    for (let chunk = first; chunk <= last; chunk += 1) {
      const start = chunk * CHUNK_SLOTS - from / slotMs;
      const part = values.subarray(Math.max(0, start), start + CHUNK_SLOTS);
      const row = layOver(() => readChunk.get(base + chunk) as SlotRow | undefined, part, Math.max(0, -start));
      if (row !== undefined) writeChunk.run(base + chunk, row.first, row.slots);
    }
  };
}

/** Numbers of the first and the last chunk that can hold something of the window. */
function chunksOf({ series, from, to }: SeriesWindow): { first: number; last: number } {
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  return { first: Math.max(0, Math.floor(from / length)), last: Math.min(CHUNKS, Math.ceil(to / length)) - 1 };
}
