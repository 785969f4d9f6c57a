import { type Series, seriesKey } from "../../metrics/series.js";
import type { Database } from "./database.js";

/** Every series that was ever written, with a number of its own and the length of its slots, ms. */
export const seriesIdSchema = `
  CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL,
    slot_ms INTEGER NOT NULL, UNIQUE (dimension, dimension_id, type)
  )`;

/** As many numbers are remembered. */
const REMEMBERED = 50_000;

/** The numbers of series in `metrics.db`. */
export interface SeriesIds {
  find(series: Series): number | undefined;
  /** Adds the series when it is not known; inside the caller's transaction. Call `forget` when that fails. */
  findOrAdd(series: Series): number;
  forget(): void;
  all(): { readonly id: number; readonly slotMs: number }[];
}

export function seriesIds(db: Database): SeriesIds {
  const select = db.prepare("SELECT id FROM series WHERE dimension = ? AND dimension_id = ? AND type = ?");
  const insert = db.prepare("INSERT INTO series (dimension, dimension_id, type, slot_ms) VALUES (?, ?, ?, ?)");
  const selectAll = db.prepare("SELECT id, slot_ms AS slotMs FROM series");
  const known = new Map<string, number>();

  function remember(key: string, id: number): number {
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, id);
    return id;
  }

  function find(series: Series): number | undefined {
    const key = seriesKey(series);
    const id = known.get(key);
    if (id !== undefined) return id;
    const row = select.get(series.dimension.name, series.id, series.type) as { id: number } | undefined;
    return row && remember(key, row.id);
  }

  return {
    find,
    findOrAdd(series) {
      const { dimension, id, type } = series;
      return (
        find(series) ??
        remember(seriesKey(series), Number(insert.run(dimension.name, id, type, dimension.slotMs).lastInsertRowid))
      );
    },
    forget() {
      known.clear();
    },
    all: () => selectAll.all() as { id: number; slotMs: number }[],
  };
}
