import type { Mark, MarkStore } from "../../../catalogue/ports.js";
import { type Database, inTransaction } from "../connection.js";

export const markSchema = `
  CREATE TABLE IF NOT EXISTS mark (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL, dimension TEXT, dimension_id TEXT
  ) WITHOUT ROWID`;

export interface MarkRow extends Pick<Mark, "id" | "at" | "text"> {
  readonly dimension: string | null;
  readonly dimension_id: string | null;
}

/** Marks in `entities.db`. */
export function sqliteMarkStore(db: Database): MarkStore {
  const count = db.prepare("SELECT count(*) AS count FROM mark WHERE id <> ?");
  const put = db.prepare("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?, ?)");
  const find = db.prepare("SELECT * FROM mark WHERE id = ?");
  const list = db.prepare(`SELECT * FROM mark WHERE id > :after AND at >= :from AND at < :to
    AND (:dimension IS NULL OR dimension = :dimension)
    AND (:dimensionId IS NULL OR dimension_id = :dimensionId) ORDER BY id LIMIT :limit`);
  const remove = db.prepare("DELETE FROM mark WHERE id = ?");

  return {
    putMark: async ({ id, at, text, dimension = null, dimensionId = null }, most) =>
      inTransaction(db, () => {
        if ((count.get(id) as { count: number }).count >= most) return false;
        put.run(id, at, text, dimension, dimensionId);
        return true;
      }),

    async mark(id) {
      const row = find.get(id) as MarkRow | undefined;
      return row && markOf(row);
    },

    async marks({ dimension = null, dimensionId = null, ...window }, after = "", limit) {
      return (list.all({ ...window, dimension, dimensionId, after, limit }) as unknown as MarkRow[]).map(markOf);
    },

    deleteMark: async (id) => remove.run(id).changes > 0,
  };
}

export function markOf({ id, at, text, dimension, dimension_id }: MarkRow): Mark {
  const ofDimension = dimension === null ? {} : { dimension };
  return { id, at, text, ...ofDimension, ...(dimension_id === null ? {} : { dimensionId: dimension_id }) };
}
