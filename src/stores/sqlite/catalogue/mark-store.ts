import type { Mark, MarkStore } from "../../../catalogue/ports.js";
import { type Database, inTransaction } from "../connection.js";
import { recordOf } from "../document.js";

export const markSchema = "CREATE TABLE IF NOT EXISTS mark (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID";

/** Marks in `entities.db`, as JSON. */
export function sqliteMarkStore(db: Database): MarkStore {
  const put = markWriter(db);
  const find = db.prepare("SELECT document FROM mark WHERE id = ?");
  const list = db.prepare(`SELECT document FROM mark
    WHERE id > :after AND document ->> 'at' >= :from AND document ->> 'at' < :to
    AND (:dimension IS NULL OR document ->> 'dimension' = :dimension)
    AND (:dimensionId IS NULL OR document ->> 'dimensionId' = :dimensionId) ORDER BY id LIMIT :limit`);
  const remove = db.prepare("DELETE FROM mark WHERE id = ?");

  return {
    putMark: async (mark, most) => inTransaction(db, () => put(mark, most)),

    async mark(id) {
      const row = find.get(id);
      return row && recordOf<Mark>(row);
    },

    async marks({ dimension = null, dimensionId = null, ...window }, after = "", limit) {
      return list.all({ ...window, dimension, dimensionId, after, limit }).map((row) => recordOf<Mark>(row));
    },

    deleteMark: async (id) => remove.run(id).changes > 0,
  };
}

/** Returns `MarkStore.putMark` inside the caller's transaction. */
export function markWriter(db: Database): (mark: Mark, most: number) => boolean {
  const count = db.prepare("SELECT count(*) AS count FROM mark WHERE id <> ?");
  const put = db.prepare("INSERT OR REPLACE INTO mark VALUES (?, ?)");
  return (mark, most) => {
    if ((count.get(mark.id) as { count: number }).count >= most) return false;
    put.run(mark.id, JSON.stringify(mark));
    return true;
  };
}
