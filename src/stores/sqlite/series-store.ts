import { CHUNK_SLOTS, type SlotColumn } from "../../metrics/series.js";
import type { SeriesStore, SeriesWindow } from "../../metrics/series-store.js";
import { type Database, inTransaction } from "./database.js";
import { type SeriesIds, seriesIdSchema, seriesIds } from "./series-ids.js";

/**
 * A row of `chunk` holds CHUNK_SLOTS little-endian doubles, NaN where nothing is saved. Its id is the series' id × CHUNKS + the
 * number of the chunk, counted from 1970: chunks of a series lie together, and three fit a page.
 */
const chunkSchema = "CREATE TABLE IF NOT EXISTS chunk (id INTEGER PRIMARY KEY, slots BLOB NOT NULL)";

export const seriesSchema = `${seriesIdSchema}; ${chunkSchema}`;

/** Room for the chunks of one series: a thousand years of them at the least. */
const CHUNKS = 2 ** 20;

/** Rows removed in one transaction, so that nobody waits for long. */
const EXPIRED_AT_ONCE = 2_000;

/** Series in `metrics.db`. */
export function sqliteSeriesStore(db: Database): SeriesStore {
  const ids = seriesIds(db);
  const readChunks = db.prepare("SELECT id, slots FROM chunk WHERE id BETWEEN ? AND ?");
  const expireChunks = db.prepare(
    "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id >= ? AND id < ? LIMIT ?)",
  );
  const writeColumn = columnWriter(db, ids);

  return {
    async write(columns) {
      try {
        inTransaction(db, () => columns.forEach(writeColumn));
      } catch (error) {
        ids.forget();
        throw error;
      }
    },

    async read(windows) {
      return windows.map((window) => {
        const { series, from, to } = window;
        const values = new Float64Array((to - from) / series.dimension.slotMs).fill(Number.NaN);
        const id = ids.find(series);
        if (id === undefined || values.length === 0) return values;
        const { first, last } = chunksOf(window);
        for (const row of readChunks.all(id * CHUNKS + first, id * CHUNKS + last) as {
          id: number;
          slots: Uint8Array;
        }[]) {
          const start = (row.id - id * CHUNKS) * CHUNK_SLOTS - from / series.dimension.slotMs;
          const skip = Math.max(0, -start);
          values.set(slotsOf(row.slots).subarray(skip, Math.min(CHUNK_SLOTS, values.length - start)), start + skip);
        }
        return values;
      });
    },

    async expire(before) {
      for (const { id, slotMs } of ids.all()) {
        const end = Math.min(CHUNKS, Math.max(0, Math.floor(before / slotMs / CHUNK_SLOTS)));
        let removed: number;
        do {
          removed = Number(expireChunks.run(id * CHUNKS, id * CHUNKS + end, EXPIRED_AT_ONCE).changes);
          await new Promise(setImmediate);
        } while (removed === EXPIRED_AT_ONCE);
      }
    },
  };
}

/** Numbers of the first and the last chunk that can hold something of the window. */
function chunksOf({ series, from, to }: SeriesWindow): { first: number; last: number } {
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  return { first: Math.max(0, Math.floor(from / length)), last: Math.min(CHUNKS, Math.ceil(to / length)) - 1 };
}

/** Lays a column over the chunks that it touches, inside the caller's transaction. */
function columnWriter(db: Database, ids: SeriesIds): (column: SlotColumn) => void {
  const readChunk = db.prepare("SELECT slots FROM chunk WHERE id = ?");
  const writeChunk = db.prepare("INSERT INTO chunk VALUES (?, ?) ON CONFLICT DO UPDATE SET slots = excluded.slots");

  return ({ series, from, values }) => {
    const { slotMs } = series.dimension;
    const { first, last } = chunksOf({ series, from, to: from + values.length * slotMs });
    const base = ids.findOrAdd(series) * CHUNKS;
    for (let chunk = first; chunk <= last; chunk += 1) {
      const start = chunk * CHUNK_SLOTS - from / slotMs;
      const part = values.subarray(Math.max(0, start), start + CHUNK_SLOTS);
      const whole = part.length === CHUNK_SLOTS && !part.some(Number.isNaN);
      const kept = whole ? undefined : (readChunk.get(base + chunk) as { slots: Uint8Array } | undefined);
      const slots = kept === undefined ? new Float64Array(CHUNK_SLOTS).fill(Number.NaN) : slotsOf(kept.slots);
      const offset = Math.max(0, -start);
      for (const [i, value] of part.entries()) if (!Number.isNaN(value)) slots[offset + i] = value;
      writeChunk.run(base + chunk, new Uint8Array(slots.buffer));
    }
  };
}

/** A copy of the blob's doubles (a blob need not be aligned to 8 bytes). */
function slotsOf(blob: Uint8Array): Float64Array {
  const copy = new Uint8Array(blob.byteLength);
  copy.set(blob);
  return new Float64Array(copy.buffer);
}
