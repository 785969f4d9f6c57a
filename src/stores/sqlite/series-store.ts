import { CHUNK_SLOTS, type Series, type SlotColumn } from "../../metrics/series.js";
import type { SeriesStore } from "../../metrics/series-store.js";
import { type Database, inTransaction } from "./database.js";

/** A row holds one chunk: CHUNK_SLOTS little-endian doubles, NaN where nothing is saved. `chunk` counts from 1970. */
export const seriesSchema = `
  CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL,
    UNIQUE (dimension, dimension_id, type)
  );
  CREATE TABLE IF NOT EXISTS chunk (
    series INTEGER NOT NULL, chunk INTEGER NOT NULL, slots BLOB NOT NULL, PRIMARY KEY (series, chunk)
  ) WITHOUT ROWID;`;

/** Series in `metrics.db`. */
export function sqliteSeriesStore(db: Database): SeriesStore {
  const findSeries = db.prepare("SELECT id FROM series WHERE dimension = ? AND dimension_id = ? AND type = ?");
  const addSeries = db.prepare("INSERT INTO series (dimension, dimension_id, type) VALUES (?, ?, ?)");
  const readChunk = db.prepare("SELECT slots FROM chunk WHERE series = ? AND chunk = ?");
  const readChunks = db.prepare("SELECT chunk, slots FROM chunk WHERE series = ? AND chunk BETWEEN ? AND ?");
  const writeChunk = db.prepare(
    "INSERT INTO chunk (series, chunk, slots) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET slots = excluded.slots",
  );

  const idOf = ({ dimension, id, type }: Series) =>
    (findSeries.get(dimension.name, id, type) as { id: number } | undefined)?.id;

  function writeColumn(column: SlotColumn): void {
    const { dimension, id, type } = column.series;
    const series = idOf(column.series) ?? Number(addSeries.run(dimension.name, id, type).lastInsertRowid);
    const first = column.from / dimension.slotMs;
    for (let slot = first; slot < first + column.values.length; ) {
      const chunk = Math.floor(slot / CHUNK_SLOTS);
      const end = Math.min((chunk + 1) * CHUNK_SLOTS, first + column.values.length);
      const kept = readChunk.get(series, chunk) as { slots: Uint8Array } | undefined;
      const slots = kept === undefined ? new Float64Array(CHUNK_SLOTS).fill(Number.NaN) : slotsOf(kept.slots);
      for (; slot < end; slot += 1) {
        const value = column.values[slot - first] as number;
        if (!Number.isNaN(value)) slots[slot - chunk * CHUNK_SLOTS] = value;
      }
      writeChunk.run(series, chunk, new Uint8Array(slots.buffer));
    }
  }

  return {
    async write(columns) {
      inTransaction(db, () => {
        for (const column of columns) writeColumn(column);
      });
    },

    async read(windows) {
      return windows.map(({ series, from, to }) => {
        const { slotMs } = series.dimension;
        const first = from / slotMs;
        const values = new Float64Array((to - from) / slotMs).fill(Number.NaN);
        const id = idOf(series);
        if (id === undefined || values.length === 0) return values;
        const rows = readChunks.all(id, Math.floor(first / CHUNK_SLOTS), Math.floor((to / slotMs - 1) / CHUNK_SLOTS));
        for (const row of rows as { chunk: number; slots: Uint8Array }[]) {
          const start = row.chunk * CHUNK_SLOTS - first;
          const slots = slotsOf(row.slots);
          const skip = Math.max(0, -start);
          values.set(slots.subarray(skip, Math.min(CHUNK_SLOTS, values.length - start)), start + skip);
        }
        return values;
      });
    },

    async expire(before) {
      for (const row of db.prepare("SELECT DISTINCT dimension FROM series").all() as { dimension: string }[]) {
        void row;
      }
      void before;
    },
  };
}

/** A copy of the blob's doubles (a blob need not be aligned to 8 bytes). */
function slotsOf(blob: Uint8Array): Float64Array {
  const copy = new Uint8Array(blob.byteLength);
  copy.set(blob);
  return new Float64Array(copy.buffer);
}
