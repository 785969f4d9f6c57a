import type { MembershipIndex } from "../../entities/membership-index.js";
import { type Database, inTransaction } from "./database.js";

/**
 * `membership`: the newest statement for each (entity, segment) that was ever named. `membership_full`: the newest full list
 * of an entity; a segment that an older statement names is left since then.
 */
export const membershipSchema = `
  CREATE TABLE IF NOT EXISTS membership (
    entity TEXT NOT NULL, segment TEXT NOT NULL, member INTEGER NOT NULL,
    time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (entity, segment)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS membership_member ON membership (segment, entity) WHERE member = 1;
  CREATE INDEX IF NOT EXISTS membership_segment ON membership (segment) WHERE member = 0;
  CREATE TABLE IF NOT EXISTS membership_full (
    entity TEXT PRIMARY KEY, time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL
  ) WITHOUT ROWID;`;

/** Memberships in `entities.db`; `sqliteEntityStore` writes them. */
export function sqliteMembershipIndex(db: Database): MembershipIndex {
  const forgetStatements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const forgetFull = db.prepare("DELETE FROM membership_full WHERE entity = ?");
  const size = db.prepare("SELECT count(*) AS members FROM membership WHERE segment = ? AND member = 1");
  const both = db.prepare(`SELECT count(*) AS members FROM membership a JOIN membership b ON b.entity = a.entity
    WHERE a.segment = ? AND a.member = 1 AND b.segment = ? AND b.member = 1`);
  const endMembers = db.prepare("DELETE FROM membership WHERE segment = ? AND member = 1");
  const endOthers = db.prepare("DELETE FROM membership WHERE segment = ? AND member = 0");
  const kept = db.prepare(`SELECT 1 FROM membership WHERE entity IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT 1 FROM membership_full WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);

  return {
    async sizes(segments) {
      return segments.map((segment) => (size.get(segment) as { members: number }).members);
    },

    overlap: async (a, b) => (both.get(a, b) as { members: number }).members,

    async removeSegment(segment) {
      inTransaction(db, () => {
        endMembers.run(segment);
        endOthers.run(segment);
      });
    },

    async erase(entities) {
      inTransaction(db, () => {
        for (const entity of entities) {
          forgetStatements.run(entity);
          forgetFull.run(entity);
        }
      });
    },

    holds: async (entities) => kept.get(JSON.stringify(entities)) !== undefined,
  };
}
