import type { CatalogueStore, Experience, Segment } from "../../../catalogue/ports.js";
import { type Database, inTransaction } from "../connection.js";
import { segmentDeletions, voidRemoval } from "../profiles/deleted-segments.js";

export const catalogueSchema = `
  CREATE TABLE IF NOT EXISTS segment (id TEXT PRIMARY KEY, name TEXT NOT NULL, "table" TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS experience (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, "group" TEXT, audience TEXT NOT NULL, goal TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS experience_audience ON experience (audience);
  CREATE INDEX IF NOT EXISTS experience_goal ON experience (goal);`;

export interface ExperienceRow extends Omit<Experience, "group"> {
  readonly group: string | null;
}

/** Segments and experiences in `entities.db`. */
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
  const naming = db.prepare("SELECT 1 FROM experience WHERE audience = ?1 OR goal = ?1 LIMIT 1");
  const { note: noteRemoved } = segmentDeletions(db);
  const putExperience = db.prepare(
    `INSERT INTO experience VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET name = excluded.name, "group" = excluded."group", audience = excluded.audience, goal = excluded.goal`,
  );
  const findExperience = db.prepare(`SELECT id, name, "group", audience, goal FROM experience WHERE id = ?`);
  const listExperiences = db.prepare(
    `SELECT id, name, "group", audience, goal FROM experience WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const countExperiences = db.prepare("SELECT count(*) AS count FROM experience");
  const dropExperience = db.prepare("DELETE FROM experience WHERE id = ?");

  const removeSome = voidRemoval(db);

  const segment = (id: string) => findSegment.get(id) as Segment | undefined;
  const experience = (id: string) => findExperience.get(id) as ExperienceRow | undefined;

  return {
    async putSegment({ id, name, table }) {
      putSegment.run(id, name, table);
    },

    async segment(id) {
      const row = segment(id);
      return row && { ...row };
    },

    segmentsById: async (ids) => new Map(ids.flatMap((id) => segment(id) ?? []).map((row) => [row.id, { ...row }])),

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
        noteRemoved(id, at);
        return "deleted";
      });
    },

    endMemberships: async () => removeSome(),

    async putExperience({ id, name, group, audience, goal }) {
      return inTransaction(db, () => {
        const named = { audience, goal };
        const missing = (["audience", "goal"] as const).filter((part) => findSegment.get(named[part]) === undefined);
        if (missing.length === 0) putExperience.run(id, name, group ?? null, audience, goal);
        return { missing };
      });
    },

    async experience(id) {
      const row = experience(id);
      return row && experienceOf(row);
    },

    async experiences(after, limit) {
      return (listExperiences.all(after ?? "", limit) as unknown as ExperienceRow[]).map(experienceOf);
    },

    experiencesById: async (ids) =>
      new Map(ids.flatMap((id) => experience(id) ?? []).map((row) => [row.id, experienceOf(row)])),

    async countExperiences() {
      return (countExperiences.get() as { count: number }).count;
    },

    async deleteExperience(id) {
      return dropExperience.run(id).changes > 0;
    },
  };
}

export function experienceOf({ id, name, group, audience, goal }: ExperienceRow): Experience {
  return { id, name, ...(group === null ? {} : { group }), audience, goal };
}
