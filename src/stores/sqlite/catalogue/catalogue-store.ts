import {
  type CatalogueStore,
  type Experience,
  isByRule,
  MAX_MARKS,
  ruleMark,
  type Segment,
  type SegmentRule,
} from "../../../catalogue/ports.js";
import { type Database, inTransaction } from "../connection.js";
import { recordOf } from "../document.js";
import { segmentDeletions, voidRemoval } from "../profiles/deleted-segments.js";
import { outboxWrites } from "../profiles/outbox.js";
import { markWriter } from "./mark-store.js";

export const catalogueSchema = `
  CREATE TABLE IF NOT EXISTS segment (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, "table" TEXT NOT NULL, rule TEXT
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS segment_rule ON segment (id) WHERE rule IS NOT NULL;
  CREATE TABLE IF NOT EXISTS experience (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS experience_audience ON experience (document ->> 'audience');
  CREATE INDEX IF NOT EXISTS experience_goal ON experience (document ->> 'goal');`;

/** Ids of the users of a segment that are returned, of each kind. */
const MAX_USERS = 10;

/** Segments, with their rules as JSON, and experiences as JSON, in `entities.db`. */
export function sqliteCatalogueStore(db: Database, outbox = outboxWrites(db, [])): CatalogueStore {
  const putSegment = db.prepare(`INSERT INTO segment VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET name = excluded.name, "table" = excluded."table", rule = excluded.rule`);
  const findSegment = db.prepare("SELECT * FROM segment WHERE id = ?");
  const listRules = db.prepare("SELECT * FROM segment WHERE rule IS NOT NULL ORDER BY id");
  const listSegments = db.prepare(`SELECT * FROM segment
    WHERE id > :after AND (:table IS NULL OR "table" = :table) ORDER BY id LIMIT :limit`);
  const countSegments = db.prepare(`SELECT count(*) AS count FROM segment WHERE ?1 IS NULL OR "table" = ?1`);
  const listSegmentIds = db.prepare(
    "SELECT json_group_array(id) AS ids FROM (SELECT id FROM segment WHERE id > ? ORDER BY id LIMIT ?)",
  );
  const dropSegment = db.prepare("DELETE FROM segment WHERE id = ?");
  const experiencesNaming = db.prepare(`SELECT json_group_array(id) AS ids FROM (SELECT id FROM experience
    WHERE document ->> 'audience' = ?1 OR document ->> 'goal' = ?1 ORDER BY id LIMIT ${MAX_USERS})`);
  const rulesNaming = db.prepare(`SELECT json_group_array(id) AS ids FROM (SELECT id FROM segment
    WHERE rule IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(rule, '$.names') WHERE value = ?)
    ORDER BY id LIMIT ${MAX_USERS})`);
  const generations = segmentDeletions(db);
  const putMark = markWriter(db);
  const putExperience = db.prepare("INSERT OR REPLACE INTO experience VALUES (?, ?)");
  const findExperience = db.prepare("SELECT document FROM experience WHERE id = ?");
  const listExperiences = db.prepare("SELECT document FROM experience WHERE id > ? ORDER BY id LIMIT ?");
  const countExperiences = db.prepare("SELECT count(*) AS count FROM experience");
  const dropExperience = db.prepare("DELETE FROM experience WHERE id = ?");

  const removeSome = voidRemoval(db);

  const segment = (id: string): Segment | undefined => {
    const row = findSegment.get(id);
    return row && segmentOf(row);
  };
  const idsIn = (row: unknown) => JSON.parse((row as { ids: string }).ids) as string[];

  return {
    async putSegment({ id, name, table }) {
      if (segment(id)?.byRule !== undefined) return "by-rule";
      putSegment.run(id, name, table, null);
      return "stored";
    },

    async putRule({ id, name, table, rule, names }, generation, at) {
      return inTransaction(db, () => {
        if (generations.newest() !== generation) return "outdated";
        const stored = segment(id);
        if (stored !== undefined && stored.byRule === undefined) return "pushed";
        if (stored !== undefined && stored.table !== table) return "other-table";
        const isSame = stored?.byRule !== undefined && JSON.stringify(stored.byRule.rule) === JSON.stringify(rule);
        const byRule = isSame ? stored.byRule : { rule, names, change: generations.begin(), computing: { since: at } };
        putSegment.run(id, name, table, JSON.stringify(byRule));
        if (!isSame) putMark(ruleMark(id, stored === undefined, at), MAX_MARKS);
        return "stored";
      });
    },

    async rules() {
      return { generation: generations.newest(), segments: listRules.all().map(segmentOf).filter(isByRule) };
    },

    async setComputing(id, before, computing) {
      const stored = segment(id);
      if (stored?.byRule === undefined) return false;
      const { computing: progress, ...byRule } = stored.byRule;
      const isSame = JSON.stringify(progress) === JSON.stringify(before.computing);
      if (byRule.change !== before.change || !isSame) return false;
      putSegment.run(id, stored.name, stored.table, JSON.stringify({ ...byRule, computing }));
      return true;
    },

    segmentsById: async (ids) => new Map(ids.flatMap((id) => segment(id) ?? []).map((found) => [found.id, found])),

    async segments(after = "", limit, table) {
      return listSegments.all({ after, limit, table: table ?? null }).map(segmentOf);
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
        const users = { experiences: idsIn(experiencesNaming.get(id)), rules: idsIn(rulesNaming.get(id)) };
        if (users.experiences.length + users.rules.length > 0) return users;
        if (dropSegment.run(id).changes === 0) return "absent";
        outbox.deleteSegment(id, at, generations.record(id, at));
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

/** Returns the segment of a row. */
export function segmentOf(row: unknown): Segment {
  const { rule, ...segment } = row as Segment & { readonly rule: string | null };
  return rule === null ? segment : { ...segment, byRule: JSON.parse(rule) as SegmentRule };
}
