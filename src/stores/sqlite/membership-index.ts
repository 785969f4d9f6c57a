import { pacer } from "../../clock.js";
import { compareStamps, type EntityId, type Stamp } from "../../entities/entity.js";
import type { MembershipChange, MembershipIndex } from "../../entities/membership-index.js";
import { type Database, inTransaction } from "./database.js";

/**
 * `membership`: the newest statement for each (entity, segment) that was ever mentioned. `membership_floor`: the newest
 * full list of an entity; a segment that an older statement mentions is out since then.
 */
export const membershipSchema = `
  CREATE TABLE IF NOT EXISTS membership (
    entity TEXT NOT NULL, segment TEXT NOT NULL, member INTEGER NOT NULL,
    time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (entity, segment)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS membership_member ON membership (segment, entity) WHERE member = 1;
  CREATE INDEX IF NOT EXISTS membership_segment ON membership (segment) WHERE member = 0;
  CREATE TABLE IF NOT EXISTS membership_floor (
    entity TEXT PRIMARY KEY, time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL
  ) WITHOUT ROWID;`;

const OLDER = "(time, arrival, position) < (excluded.time, excluded.arrival, excluded.position)";
const TIED = "(time, arrival, position) = (excluded.time, excluded.arrival, excluded.position)";

/** Time after which a transaction takes no further change: other requests get their turn in between. */
const LONGEST_MS = 20;

/** Memberships in `entities.db`, beside the entities, so that a statement about a dead one is dropped in the same step. */
export function sqliteMembershipIndex(db: Database): MembershipIndex {
  const isDead = db.prepare("SELECT 1 FROM entity WHERE id = ? AND state = 'dead'");
  const floorOf = db.prepare("SELECT time, arrival, position FROM membership_floor WHERE entity = ?");
  const raiseFloor = db.prepare(`INSERT INTO membership_floor VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET time = excluded.time, arrival = excluded.arrival, position = excluded.position WHERE ${OLDER}`);
  const endOlder = db.prepare(`UPDATE membership SET member = 0, time = ?2, arrival = ?3, position = ?4
    WHERE entity = ?1 AND (time, arrival, position) < (?2, ?3, ?4)`);
  const state = db.prepare(`INSERT INTO membership (entity, segment, member, time, arrival, position)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET member = excluded.member, time = excluded.time, arrival = excluded.arrival, position = excluded.position
    WHERE ${OLDER} OR (${TIED} AND member < excluded.member)`);
  const mention = db.prepare(`INSERT OR IGNORE INTO membership (entity, segment, member, time, arrival, position)
    VALUES (?, ?, 0, ?, ?, ?)`);
  const countOf = db.prepare("SELECT count(*) AS segments FROM membership WHERE entity = ?");
  const mentionedOf = db.prepare("SELECT segment FROM membership WHERE entity = ?");
  const statementsOf = db.prepare("SELECT segment, member, time, arrival, position FROM membership WHERE entity = ?");
  const forgetStatements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const forgetFloor = db.prepare("DELETE FROM membership_floor WHERE entity = ?");
  const members = db.prepare("SELECT segment FROM membership WHERE entity = ? AND member = 1");
  const size = db.prepare("SELECT count(*) AS members FROM membership WHERE segment = ? AND member = 1");
  const both = db.prepare(`SELECT count(*) AS members FROM membership a JOIN membership b ON b.entity = a.entity
    WHERE a.segment = ? AND a.member = 1 AND b.segment = ? AND b.member = 1`);
  const endMembers = db.prepare("DELETE FROM membership WHERE segment = ? AND member = 1");
  const endOthers = db.prepare("DELETE FROM membership WHERE segment = ? AND member = 0");
  const kept = db.prepare(`SELECT 1 FROM membership WHERE entity IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT 1 FROM membership_floor WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);

  const floor = (entity: EntityId) => floorOf.get(entity) as Stamp | undefined;

  function applyOne({ entity, stamp, add, remove, full }: MembershipChange): void {
    if (isDead.get(entity) !== undefined) return;
    let since = floor(entity);
    if (full && (since === undefined || isOlder(since, stamp))) {
      endOlder.run(entity, ...valuesOf(stamp));
      raiseFloor.run(entity, ...valuesOf(stamp));
      since = stamp;
    }
    const isVoid = since !== undefined && isOlder(stamp, since);
    for (const [segments, member] of [
      [remove, 0],
      [add, 1],
    ] as const) {
      for (const segment of segments) {
        if (isVoid) mention.run(entity, segment, ...valuesOf(since as Stamp));
        else state.run(entity, segment, member, ...valuesOf(stamp));
      }
    }
  }

  return {
    async apply(changes) {
      const pace = pacer();
      for (let next = 0; next < changes.length; ) {
        inTransaction(db, () => {
          for (
            const until = performance.now() + LONGEST_MS;
            next < changes.length && performance.now() < until;
            next += 1
          ) {
            applyOne(changes[next] as MembershipChange);
          }
        });
        await pace();
      }
    },

    async join(from, into) {
      if (kept.get(JSON.stringify([from])) === undefined) return;
      inTransaction(db, () => {
        const rows = statementsOf.all(from) as unknown as ({ segment: string; member: number } & Stamp)[];
        const since = floor(from);
        if (isDead.get(into) === undefined) {
          for (const row of rows) state.run(into, row.segment, row.member, ...valuesOf(row));
          if (since !== undefined) raiseFloor.run(into, ...valuesOf(since));
        }
        forgetStatements.run(from);
        forgetFloor.run(from);
      });
    },

    async segmentsOf(entity) {
      return (members.all(entity) as { segment: string }[]).map(({ segment }) => segment).sort();
    },

    async counts(entities) {
      const counts = new Map<EntityId, number>();
      const pace = pacer();
      for (const entity of entities) {
        const { segments } = countOf.get(entity) as { segments: number };
        if (segments > 0) counts.set(entity, segments);
        await pace();
      }
      return counts;
    },

    async mentioned(entities) {
      return new Set(
        entities.flatMap((entity) => (mentionedOf.all(entity) as { segment: string }[]).map(({ segment }) => segment)),
      );
    },

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
          forgetFloor.run(entity);
        }
      });
    },

    holds: async (entities) => kept.get(JSON.stringify(entities)) !== undefined,
  };
}

function valuesOf({ time, arrival, position }: Stamp): [number, number, number] {
  return [time, arrival, position];
}

function isOlder(a: Stamp, b: Stamp): boolean {
  return compareStamps(a, b) < 0;
}
