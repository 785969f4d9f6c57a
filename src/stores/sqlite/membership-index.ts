import { setImmediate } from "node:timers/promises";
import { pacer } from "../../async/yielding.js";
import type { EntityId, MembershipStatement, Memberships, Version } from "../../entities/entity.js";
import type { MembershipIndex } from "../../entities/ports.js";
import { type Database, inTransaction, sharingCommits } from "./connection.js";

/**
 * `membership`: the newest statement for each (entity, segment) that was ever named. `membership_full`: the newest full list
 * of an entity; a segment that an older statement names is left since then.
 */
export const membershipSchema = `
  CREATE TABLE IF NOT EXISTS membership (
    entity TEXT NOT NULL REFERENCES entity ON DELETE CASCADE, segment TEXT NOT NULL, member INTEGER NOT NULL,
    time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (entity, segment)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS membership_member ON membership (segment, entity) WHERE member = 1;
  CREATE INDEX IF NOT EXISTS membership_segment ON membership (segment) WHERE member = 0;
  CREATE TABLE IF NOT EXISTS membership_full (
    entity TEXT PRIMARY KEY REFERENCES entity ON DELETE CASCADE,
    time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL
  ) WITHOUT ROWID;`;

/** Memberships in `entities.db`; `sqliteEntityStore` writes them. */
export function sqliteMembershipIndex(db: Database): MembershipIndex {
  const forgetStatements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const forgetFull = db.prepare("DELETE FROM membership_full WHERE entity = ?");
  const { sizes, overlap } = memberCounts(db);
  const kept = db.prepare(`SELECT 1 FROM membership WHERE entity IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT 1 FROM membership_full WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);

  return {
    sizes,
    overlap,

    erase: sharingCommits((entities: readonly EntityId[]) => {
      inTransaction(db, () => {
        for (const entity of entities) {
          forgetStatements.run(entity);
          forgetFull.run(entity);
        }
      });
    }),

    holds: async (entities) => kept.get(JSON.stringify(entities)) !== undefined,
  };
}

/** Members of a segment that one step counts, and that one step looks for in another segment. */
const COUNTED_AT_ONCE = 50_000;
const COMPARED_AT_ONCE = 10_000;
/** Segments that one step counts, and members of each: a segment that has as many is counted by itself. */
const SEGMENTS_AT_ONCE = 100;
const FEW_MEMBERS = COUNTED_AT_ONCE / SEGMENTS_AT_ONCE;
/** Other requests run whenever steps have taken so long. */
const PACE_MS = 10;

/** Counting members, in steps of a few ms however many there are. */
function memberCounts(db: Database): Pick<MembershipIndex, "sizes" | "overlap"> {
  // In: segments as a JSON array. Out: for each, in that order, how many members it has, up to FEW_MEMBERS.
  const few = db.prepare(`SELECT (SELECT count(*) FROM
    (SELECT 1 FROM membership WHERE segment = asked.value AND member = 1 LIMIT ${FEW_MEMBERS})) AS members
    FROM json_each(?) AS asked ORDER BY asked.key`);
  // In: a segment, and the entity after which to begin. Out: how many members come next, and the last of them.
  const some = db.prepare(`SELECT count(*) AS members, max(entity) AS last FROM
    (SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ? ORDER BY entity LIMIT ${COUNTED_AT_ONCE})`);
  // The same, and how many of them are members of the other segment too.
  const both = db.prepare(`SELECT count(*) AS members, max(a.entity) AS last, count(b.entity) AS shared FROM
    (SELECT entity FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?3 ORDER BY entity LIMIT ${COMPARED_AT_ONCE}) a
    LEFT JOIN membership b ON b.entity = a.entity AND b.segment = ?2 AND b.member = 1`);

  async function sizeOf(segment: string, pace: () => Promise<void> | undefined): Promise<number> {
    let size = 0;
    for (let after = ""; ; ) {
      await pace();
      const { members, last } = some.get(segment, after) as { members: number; last: string | null };
      size += members;
      if (last === null || members < COUNTED_AT_ONCE) return size;
      after = last;
    }
  }

  async function sizes(segments: readonly string[]): Promise<number[]> {
    const pace = pacer(PACE_MS);
    const counted: number[] = [];
    for (let from = 0; from < segments.length; from += SEGMENTS_AT_ONCE) {
      await pace();
      const part = segments.slice(from, from + SEGMENTS_AT_ONCE);
      const found = few.all(JSON.stringify(part)) as { members: number }[];
      for (const [i, { members }] of found.entries()) {
        counted.push(members < FEW_MEMBERS ? members : await sizeOf(part[i] as string, pace));
      }
    }
    return counted;
  }

  return {
    sizes,

    async overlap(a, b) {
      const [ofA = 0, ofB = 0] = await sizes([a, b]);
      const [fewer, more] = ofA < ofB ? [a, b] : [b, a];
      const pace = pacer(PACE_MS);
      let overlap = 0;
      for (let after = ""; ; ) {
        await pace();
        const { members, last, shared } = both.get(fewer, more, after) as {
          members: number;
          last: string | null;
          shared: number;
        };
        overlap += shared;
        if (last === null || members < COMPARED_AT_ONCE) return overlap;
        after = last;
      }
    },
  };
}

/** What profiles say of segments, a row a statement. */
export function membershipRows(db: Database) {
  const statements = db.prepare(`SELECT entity, segment, member, time, arrival, position FROM membership
    WHERE entity IN (SELECT value FROM json_each(?))`);
  const fullLists = db.prepare(`SELECT entity, time, arrival, position FROM membership_full
    WHERE entity IN (SELECT value FROM json_each(?))`);
  const state = db.prepare(`INSERT INTO membership (entity, segment, member, time, arrival, position)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET member = excluded.member, time = excluded.time, arrival = excluded.arrival, position = excluded.position`);
  const noteFull = db.prepare(
    "INSERT OR REPLACE INTO membership_full (entity, time, arrival, position) VALUES (?, ?, ?, ?)",
  );

  return {
    /** `ids` is a JSON array. */
    of(ids: string): Map<EntityId, Memberships> {
      type Row = Version & { readonly entity: EntityId };
      const full = new Map(
        (fullLists.all(ids) as unknown as Row[]).map(({ entity, time, arrival, position }) => [
          entity,
          { time, arrival, position },
        ]),
      );
      const bySegment = new Map<EntityId, Map<string, MembershipStatement>>();
      for (const row of statements.all(ids) as unknown as (Row & { segment: string; member: number })[]) {
        const { entity, segment, member, time, arrival, position } = row;
        const own = bySegment.get(entity) ?? new Map<string, MembershipStatement>();
        bySegment.set(entity, own.set(segment, { member: member === 1, time, arrival, position }));
      }
      return new Map(
        [...new Set([...full.keys(), ...bySegment.keys()])].map((entity) => [
          entity,
          { fullSince: full.get(entity), statements: bySegment.get(entity) ?? new Map() },
        ]),
      );
    },

    keep(entity: EntityId, { fullSince, statements }: Memberships, changed: ReadonlySet<string>): void {
      for (const segment of changed) {
        const statement = statements.get(segment);
        if (statement === undefined) continue;
        state.run(entity, segment, statement.member ? 1 : 0, statement.time, statement.arrival, statement.position);
      }
      if (fullSince !== undefined) noteFull.run(entity, fullSince.time, fullSince.arrival, fullSince.position);
    },
  };
}

/** Profiles that one step changes: other requests run in between. */
const AT_ONCE = 1_000;

/** Ends every membership of a segment, and forgets the statements about it. */
export function segmentRemoval(db: Database): (segment: string) => Promise<void> {
  // The two indexes on segments hold members and former members.
  const findNamed = [1, 0].map((member) =>
    db.prepare(`SELECT entity FROM membership WHERE segment = ? AND member = ${member} LIMIT ${AT_ONCE}`),
  );
  const forgetStatement = db.prepare("DELETE FROM membership WHERE entity = ? AND segment = ?");
  const raise = db.prepare("UPDATE entity SET revision = revision + 1 WHERE id = ?");

  /** A commit that was planned with the statements, and would merge them into another profile, finds another revision. */
  function removeSome(named: (typeof findNamed)[number], segment: string): number {
    const rows = named.all(segment) as { entity: EntityId }[];
    inTransaction(db, () => {
      for (const { entity } of rows) {
        forgetStatement.run(entity, segment);
        raise.run(entity);
      }
    });
    return rows.length;
  }

  return async (segment) => {
    for (const named of findNamed) while (removeSome(named, segment) === AT_ONCE) await setImmediate();
  };
}
