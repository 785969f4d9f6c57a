import type { SeriesStore } from "../../metrics/ports.js";
import { type Series, seriesKey } from "../../metrics/series.js";
import { compareBytes } from "../../names.js";
import type { Database } from "./connection.js";

/** Every series that was ever written, with a number of its own and the length of its slots, ms. */
export const seriesIdSchema = `
  CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL,
    slot_ms INTEGER NOT NULL, UNIQUE (dimension, dimension_id, type)
  )`;

/** As many numbers are remembered. */
const REMEMBERED = 250_000;

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

interface Row {
  readonly id: string;
  readonly type: string;
}

/** Lists the series of `metrics.db`. One that retention has emptied may briefly keep its row. */
export function seriesList(db: Database): SeriesStore["list"] {
  // Begins at ?2 in the order of the UTF-8 bytes.
  const select = db.prepare(`SELECT dimension_id AS id, type FROM series
    WHERE dimension = ?1 AND dimension_id >= ?2 AND dimension_id <> ?3
    ORDER BY dimension_id, type LIMIT ?4`);

  return async (dimension, { prefix, after = "", limit }) => {
    const start = compareBytes(after, prefix) > 0 ? after : prefix;
    const most = limit * dimension.storedTypes.length;
    const found = new Map<string, Set<string>>();
    for (const { id, type } of select.all(dimension.name, start, after, most) as unknown as Row[]) {
      if (!id.startsWith(prefix)) break;
      found.set(id, (found.get(id) ?? new Set()).add(type));
    }
    return Array.from(found, ([id, types]) => ({
      id,
      types: dimension.storedTypes.filter((type) => types.has(type)),
    })).slice(0, limit);
  };
}
