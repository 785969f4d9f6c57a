import { pacer } from "../../async/yielding.js";
import type { MembershipIndex } from "../../entities/ports.js";
import { type SegmentDeletions, validMemberships } from "../../entities/profile/deleted-segments.js";
import type { EntityId, MembershipStatement, Memberships, Version } from "../../entities/profile/entity.js";
import { type Database, inTransaction, sharingCommits, withoutSync } from "./connection.js";

/**
 * `membership`: the newest statement for each (entity, segment) ever named. `membership_full`: the newest full list of
 * an entity; it ends memberships of older statements.
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
  const remove = membershipRemoval(db);
  const { sizes, overlap } = memberCounts(db);
  const membersAfter = db.prepare(`SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ?
    ORDER BY entity LIMIT ?`);
  const kept = db.prepare(`SELECT 1 FROM membership WHERE entity IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT 1 FROM membership_full WHERE entity IN (SELECT value FROM json_each(?1)) LIMIT 1`);

  return {
    sizes,
    overlap,

    async members(segment, after = "", limit) {
      return (membersAfter.all(segment, after, limit) as { entity: EntityId }[]).map(({ entity }) => entity);
    },

    erase: sharingCommits((entities: readonly EntityId[]) => inTransaction(db, () => remove(entities))),

    holds: async (entities) => kept.get(JSON.stringify(entities)) !== undefined,
  };
}

/** Returns the removal of all data about entities, inside the caller's transaction. */
export function membershipRemoval(db: Database): (entities: readonly EntityId[]) => void {
  const statements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const fullLists = db.prepare("DELETE FROM membership_full WHERE entity = ?");
  return (entities) => {
    for (const entity of entities) {
      statements.run(entity);
      fullLists.run(entity);
    }
  };
}

/** Members counted by one step from the index, and by one that reads their statements. */
const COUNTED_AT_ONCE = 50_000;
const COMPARED_AT_ONCE = 10_000;
/** Time after which other requests run between steps, ms. */
const PACE_MS = 10;

/** Result of a step: the last entity of the step, after which the next one begins; null if it was the last step. */
interface CountStep {
  readonly counted: number;
  readonly next: string | null;
}

/** Counts members in steps of a few ms, whatever their number. */
function memberCounts(db: Database): Pick<MembershipIndex, "sizes" | "overlap"> {
  const members = db.prepare(`SELECT count(*) AS counted, iif(count(*) < ${COUNTED_AT_ONCE}, NULL, max(entity)) AS next
    FROM (SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ?
     ORDER BY entity LIMIT ${COUNTED_AT_ONCE})`);
  // Members of two segments whose statements are newer than the deletions of the segments.
  const shared = db.prepare(`SELECT iif(count(*) < ${COMPARED_AT_ONCE}, NULL, max(a.entity)) AS next,
      count(*) FILTER (WHERE a.time > ?4 AND a.arrival > ?4 AND b.time > ?5 AND b.arrival > ?5) AS counted
    FROM (SELECT entity, time, arrival FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?3
     ORDER BY entity LIMIT ${COMPARED_AT_ONCE}) a
    LEFT JOIN membership b ON b.entity = a.entity AND b.segment = ?2 AND b.member = 1`);
  const { ending } = segmentDeletions(db);

  async function sizes(segments: readonly string[]): Promise<number[]> {
    const pace = pacer(PACE_MS);
    const deletions = ending();
    const counts: number[] = [];
    for (const segment of segments) {
      const count = deletions.has(segment)
        ? sharedBy(segment, segment, deletions, pace)
        : total((after) => members.get(segment, after), pace);
      counts.push(await count);
    }
    return counts;
  }

  function sharedBy(a: string, b: string, deletions: SegmentDeletions, pace: Pace): Promise<number> {
    const [ofA, ofB] = [a, b].map((segment) => deletions.get(segment) ?? -Number.MAX_VALUE);
    return total((after) => shared.get(a, b, after, ofA as number, ofB as number), pace);
  }

  return {
    sizes,

    overlap(a, b) {
      // Begins with the segment that has fewer members, as far as one step counts them.
      const [ofA, ofB] = [a, b].map((segment) => (members.get(segment, "") as unknown as CountStep).counted);
      const [fewer, more] = (ofA as number) < (ofB as number) ? [a, b] : [b, a];
      return sharedBy(fewer, more, ending(), pacer(PACE_MS));
    },
  };
}

type Pace = ReturnType<typeof pacer>;

/** Adds up the results of the steps; other requests run between them. */
async function total(step: (after: string) => unknown, pace: Pace): Promise<number> {
  let sum = 0;
  for (let after: string | null = ""; after !== null; ) {
    await pace();
    const { counted, next } = step(after) as CountStep;
    sum += counted;
    after = next;
  }
  return sum;
}

/** Statements of profiles about segments, a row per statement. */
export function membershipRows(db: Database) {
  const statements = db.prepare(`SELECT entity, segment, member, time, arrival, position FROM membership
    WHERE entity IN (SELECT value FROM json_each(?)) LIMIT ?`);
  const fullLists = db.prepare(`SELECT entity, time, arrival, position FROM membership_full
    WHERE entity IN (SELECT value FROM json_each(?))`);
  const state = db.prepare(`INSERT INTO membership (entity, segment, member, time, arrival, position)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET member = excluded.member, time = excluded.time, arrival = excluded.arrival, position = excluded.position`);
  const noteFull = db.prepare(
    "INSERT OR REPLACE INTO membership_full (entity, time, arrival, position) VALUES (?, ?, ?, ?)",
  );
  const { ending } = segmentDeletions(db);

  return {
    /** Returns statements without void ones; undefined if there are more than `most`. `ids` is a JSON array. */
    of(ids: string, most: number): Map<EntityId, Memberships> | undefined {
      type Row = Version & { readonly entity: EntityId };
      const rows = statements.all(ids, Math.min(most + 1, Number.MAX_SAFE_INTEGER));
      if (rows.length > most) return undefined;
      const full = new Map(
        (fullLists.all(ids) as unknown as Row[]).map(({ entity, time, arrival, position }) => [
          entity,
          { time, arrival, position },
        ]),
      );
      const bySegment = new Map<EntityId, Map<string, MembershipStatement>>();
      for (const row of rows as unknown as (Row & { segment: string; member: number })[]) {
        const { entity, segment, member, time, arrival, position } = row;
        const own = bySegment.get(entity) ?? new Map<string, MembershipStatement>();
        bySegment.set(entity, own.set(segment, { member: member === 1, time, arrival, position }));
      }
      const deletions = ending();
      return new Map(
        [...new Set([...full.keys(), ...bySegment.keys()])].map((entity) => {
          const statements = bySegment.get(entity) ?? new Map();
          return [entity, validMemberships({ fullSince: full.get(entity), statements }, deletions)];
        }),
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

/** Returns when segments were deleted. */
export function segmentDeletions(db: Database) {
  const findEnding = db.prepare("SELECT id, deleted_at FROM segment_removed WHERE ending = 1");
  const find = db.prepare("SELECT id, deleted_at FROM segment_removed WHERE id IN (SELECT value FROM json_each(?))");
  const deletionsOf = (rows: unknown): SegmentDeletions =>
    new Map((rows as { id: string; deleted_at: number }[]).map((row) => [row.id, row.deleted_at]));

  return {
    /** Deleted segments whose void statements may still be stored. */
    ending: () => deletionsOf(findEnding.all()),
    /** Deletions of these segments. */
    of: (segments: readonly string[]) => deletionsOf(find.all(JSON.stringify(segments))),
  };
}

/** Statements read by one step of a removal; other requests run between steps. */
const AT_ONCE = 1_000;

/**
 * Removes void statements, one step per call, segment by segment; returns false if none is left. No commit stores a
 * void statement after the deletion, so each statement is read once, unless the process restarts.
 */
export function voidRemoval(db: Database): () => boolean {
  const findEnding = db.prepare("SELECT id, deleted_at AS at FROM segment_removed WHERE ending = 1 LIMIT 1");
  const end = db.prepare("UPDATE segment_removed SET ending = 0 WHERE id = ?");
  // The two indexes on segments contain members and former members.
  const entitiesOf = (member: 0 | 1) =>
    `SELECT entity, time, arrival FROM membership WHERE segment = ?1 AND member = ${member} AND entity > ?2`;
  const find = db.prepare(`SELECT iif(count(*) < ${AT_ONCE}, NULL, max(entity)) AS next,
      json_group_array(entity) FILTER (WHERE time <= ?3 OR arrival <= ?3) AS ended
    FROM (${entitiesOf(1)} UNION ALL ${entitiesOf(0)} ORDER BY entity LIMIT ${AT_ONCE})`);
  const remove = db.prepare("DELETE FROM membership WHERE segment = ? AND entity IN (SELECT value FROM json_each(?))");
  let place = { id: "", at: 0, after: "" };

  return () => {
    const ending = findEnding.get() as { id: string; at: number } | undefined;
    if (ending === undefined) return false;
    if (ending.id !== place.id || ending.at !== place.at) place = { ...ending, after: "" };
    const { id, at, after } = place;
    const { next, ended } = find.get(id, after, at) as { next: string | null; ended: string };
    withoutSync(db, () => {
      remove.run(id, ended);
      if (next === null) end.run(id);
      else place = { ...place, after: next };
    });
    return true;
  };
}
