import type { SeriesStore } from "../../metrics/ports.js";
import type { Database } from "./database.js";

interface Row {
  readonly id: string;
  readonly type: string;
}

/** Lists series of which `metrics.db` holds a chunk; `rows` is the room for the chunks of one series. */
export function seriesList(db: Database, rows: number): SeriesStore["list"] {
  // Begins at ?2 in the order of the UTF-8 bytes. A series that retention has emptied may have its row for a moment.
  const select = db.prepare(`SELECT dimension_id AS id, type FROM series
    WHERE dimension = ?1 AND dimension_id >= ?2 AND dimension_id <> ?3
    AND EXISTS (SELECT 1 FROM chunk WHERE chunk.id >= series.id * ?4 AND chunk.id < (series.id + 1) * ?4)
    ORDER BY dimension_id, type LIMIT ?5`);

  return async (dimension, { prefix, after = "", limit }) => {
    const start = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0 ? after : prefix;
    const most = limit * dimension.storedTypes.length;
    const found = new Map<string, Set<string>>();
    for (const { id, type } of select.all(dimension.name, start, after, rows, most) as unknown as Row[]) {
      if (!id.startsWith(prefix)) break;
      found.set(id, (found.get(id) ?? new Set()).add(type));
    }
    return Array.from(found, ([id, types]) => ({
      id,
      types: dimension.storedTypes.filter((type) => types.has(type)),
    })).slice(0, limit);
  };
}
