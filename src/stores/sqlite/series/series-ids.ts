import { yieldWhenDue } from "../../../async/yielding.js";
import { type CacheMemory, SharedCache } from "../../../cache-memory.js";
import type { Dimension } from "../../../metrics/dimensions.js";
import type { ListedIds, SeriesStore } from "../../../metrics/ports.js";
import { type Series, seriesKey } from "../../../metrics/series.js";
import { compareBytes, searchText } from "../../../text.js";
import type { Database } from "../connection.js";

/** Every series ever written, with a number of its own and the list of its chunks (`ChunkLists`). */
export const seriesIdSchema = `
  CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY, dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL,
    chunks BLOB, sum INTEGER, UNIQUE (dimension, dimension_id, type)
  )`;

/** Numbers of series in `metrics.db`. */
export interface SeriesIds {
  find(series: Series): number | undefined;
  /** Adds an unknown series, inside the caller's transaction. Call `forget` if that fails. */
  findOrAdd(series: Series): number;
  forget(): void;
  /** Increases whenever series may have been added or removed. */
  changes(): number;
  all(): { readonly id: number; readonly dimension: string }[];
}

export function seriesIds(db: Database, cache: CacheMemory): SeriesIds {
  const select = db.prepare("SELECT id FROM series WHERE dimension = ? AND dimension_id = ? AND type = ?");
  const insert = db.prepare(
    "INSERT INTO series (dimension, dimension_id, type) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const selectAll = db.prepare("SELECT id, dimension FROM series");
  const known = new SharedCache<number>(cache);
  let changes = 0;

  function remember(key: string, id: number): number {
    known.set(key, id, 0);
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
      const key = seriesKey(series);
      const remembered = known.get(key);
      if (remembered !== undefined) return remembered;
      const { dimension, id, type } = series;
      // Inserts without a search: a write may have 50,000 new series, and each search takes as long as the insertion.
      const added = insert.run(dimension.name, id, type);
      if (Number(added.changes) === 0) return find(series) as number;
      changes += 1;
      return remember(key, Number(added.lastInsertRowid));
    },

    forget() {
      known.clear();
      changes += 1;
    },

    changes: () => changes,
    all: () => selectAll.all() as { id: number; dimension: string }[],
  };
}

/** An id with its types, separated by commas. */
interface ListedId {
  readonly id: string;
  readonly types: string;
}

/** Ids of a list read at once; other requests run in between. */
const IDS_PER_QUERY = 2_000;

/** Upper bound of all ids, by length and in the order of UTF-8 bytes. */
const LAST_ID = "\u{10ffff}".repeat(256);

/** Lists the series of `metrics.db`. A series emptied by retention may briefly keep its row. */
export function seriesList(
  db: Database,
  ids: Pick<SeriesIds, "changes">,
  cache: CacheMemory,
): Pick<SeriesStore, "list" | "count"> {
  const pageFrom = (comparison: string, order: string) =>
    db.prepare(`SELECT dimension_id AS id, group_concat(type) AS types FROM series
      WHERE dimension = ?1 AND dimension_id ${comparison} ?2 AND dimension_id <> ?3
      GROUP BY dimension_id ORDER BY dimension_id ${order} LIMIT ?4`);
  const ascending = pageFrom(">=", "ASC");
  const descending = pageFrom("<=", "DESC");
  const countBetween = db.prepare(`SELECT count(DISTINCT dimension_id) AS count FROM series
    WHERE dimension = ? AND dimension_id BETWEEN ? AND ?`);
  /** A count is valid until a series is added or removed. */
  const counts = new SharedCache<number>(cache);

  const list: SeriesStore["list"] = async (dimension, { prefix, contains = "", after, limit, descending: isDown }) => {
    const found: { id: string; types: readonly string[] }[] = [];
    // Begins at an id in the order of the UTF-8 bytes, and skips the last returned id.
    let start = isDown ? `${prefix}${LAST_ID}` : prefix;
    if (after !== undefined && compareBytes(after, start) < 0 === (isDown === true)) start = after;
    for (let last = after ?? ""; ; await yieldWhenDue()) {
      const most = contains === "" ? Math.min(IDS_PER_QUERY, limit - found.length) : IDS_PER_QUERY;
      const ids = (isDown ? descending : ascending).all(dimension.name, start, last, most) as unknown as ListedId[];
      for (const { id, types } of ids) {
        if (!id.startsWith(prefix)) return found;
        if (contains !== "" && !searchText(id).includes(contains)) continue;
        const stored = new Set(types.split(","));
        found.push({ id, types: dimension.storedTypes.filter((type) => stored.has(type)) });
        if (found.length === limit) return found;
      }
      if (ids.length < most) return found;
      last = ids.at(-1)?.id ?? last;
      start = last;
    }
  };

  async function countIds(dimension: Dimension, { prefix, contains = "" }: ListedIds): Promise<number> {
    if (contains === "") {
      return (countBetween.get(dimension.name, prefix, `${prefix}${LAST_ID}`) as { count: number }).count;
    }
    return (await list(dimension, { prefix, contains, limit: Number.POSITIVE_INFINITY })).length;
  }

  return {
    list,

    async count(dimension, among) {
      const key = JSON.stringify([ids.changes(), dimension.name, among.prefix, among.contains]);
      const known = counts.get(key);
      if (known !== undefined) return known;
      const count = await countIds(dimension, among);
      counts.set(key, count, 0);
      return count;
    },
  };
}
