import type { CatalogueStore, Experience, Segment } from "../../../catalogue/ports.js";
import { type Database, inTransaction } from "../connection.js";
import { recordOf } from "../document.js";
import { segmentDeletions, voidRemoval } from "../profiles/deleted-segments.js";

export const catalogueSchema = `
  CREATE TABLE IF NOT EXISTS segment (id TEXT PRIMARY KEY, name TEXT NOT NULL, "table" TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS experience (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS experience_audience ON experience (document ->> 'audience');
  CREATE INDEX IF NOT EXISTS experience_goal ON experience (document ->> 'goal');`;

/** Segments, and experiences as JSON, in `entities.db`. */
export function sqliteCatalogueStore(db: Database): CatalogueStore {
  const putSegment = db.prepare(
    `INSERT INTO segment VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET name = excluded.name, "table" = excluded."table"`,
  );
  const findSegment = db.prepare(`SELECT id, name, "table" FROM segment WHERE id = ?`);
  const listSegments = db.prepare(`SELECT id, name, "table" FROM segment
    WHERE id > :after AND (:table IS NULL OR "table" = :table) ORDER BY id LIMIT :limit`);
  const countSegments = db.prepare(`SELECT count(*) AS count FROM segment WHERE ?1 IS NULL OR "table" = ?1`);
  const listSegmentIds = db.prepare(
    "SELECT json_group_array(id) AS ids FROM (SELECT id FROM segment WHERE id > ? ORDER BY id LIMIT ?)",
  );
  const dropSegment = db.prepare("DELETE FROM segment WHERE id = ?");
  const naming = db.prepare(
    "SELECT 1 FROM experience WHERE document ->> 'audience' = ?1 OR document ->> 'goal' = ?1 LIMIT 1",
  );
  const { record: recordRemoval } = segmentDeletions(db);
  const putExperience = db.prepare("INSERT OR REPLACE INTO experience VALUES (?, ?)");
  const findExperience = db.prepare("SELECT document FROM experience WHERE id = ?");
  const listExperiences = db.prepare("SELECT document FROM experience WHERE id > ? ORDER BY id LIMIT ?");
  const countExperiences = db.prepare("SELECT count(*) AS count FROM experience");
  const dropExperience = db.prepare("DELETE FROM experience WHERE id = ?");

  const removeSome = voidRemoval(db);

  return {
    async putSegment({ id, name, table }) {
      putSegment.run(id, name, table);
    },

    async segmentsById(ids) {
      const rows = ids.flatMap((id) => findSegment.get(id) ?? []) as unknown as Segment[];
      return new Map(rows.map((row) => [row.id, { ...row }]));
    },

    async segments(after = "", limit, table) {
      return (listSegments.all({ after, limit, table: table ?? null }) as unknown as Segment[]).map((row) => ({
        ...row,
      }));
    },

    async countSegments(table) {
      return (countSegments.get(table ?? null) as { count: number }).count;
    },

    async segmentIds(after = "", limit) {
      const { ids } = listSegmentIds.get(after, limit) as { ids: string };
      return JSON.parse(ids) as string[];
    },

    async deleteSegment(id, at) {
      return inTransaction(db, () => {
        if (naming.get(id) !== undefined) return "in-use";
        if (dropSegment.run(id).changes === 0) return "absent";
        recordRemoval(id, at);
        return "deleted";
      });
    },

    endMemberships: async () => removeSome(),

    async putExperience(given) {
      return inTransaction(db, () => {
        const missing = (["audience", "goal"] as const).filter((part) => findSegment.get(given[part]) === undefined);
        if (missing.length === 0) putExperience.run(given.id, JSON.stringify(given));
        return { missing };
      });
    },

    async experiences(after, limit) {
      return listExperiences.all(after ?? "", limit).map((row) => recordOf<Experience>(row));
    },

    async experiencesById(ids) {
      const rows = ids.flatMap((id) => findExperience.get(id) ?? []);
      return new Map(rows.map((row) => recordOf<Experience>(row)).map((found) => [found.id, found]));
    },

    async countExperiences() {
      return (countExperiences.get() as { count: number }).count;
    },

    async deleteExperience(id) {
      return dropExperience.run(id).changes > 0;
    },
  };
}
