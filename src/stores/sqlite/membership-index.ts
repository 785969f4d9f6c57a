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
  const forgetStatements = db.prepare("DELETE FROM membership WHERE entity = ?");
  const forgetFull = db.prepare("DELETE FROM membership_full WHERE entity = ?");
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

/** Members counted in one step, and members compared with another segment in one step. */
const COUNTED_AT_ONCE = 50_000;
const COMPARED_AT_ONCE = 10_000;
/** Segments counted in one step, and members of each: a segment with as many is counted separately. */
const SEGMENTS_AT_ONCE = 100;
const FEW_MEMBERS = COUNTED_AT_ONCE / SEGMENTS_AT_ONCE;
/** Time after which other requests run between steps, ms. */
const PACE_MS = 10;

/** Counts members in steps of a few ms, whatever their number. */
function memberCounts(db: Database): Pick<MembershipIndex, "sizes" | "overlap"> {
  // In: segments as a JSON array. Out: the number of members of each, in that order, up to FEW_MEMBERS.
  const few = db.prepare(`SELECT (SELECT count(*) FROM
    (SELECT 1 FROM membership WHERE segment = asked.value AND member = 1 LIMIT ${FEW_MEMBERS})) AS members
    FROM json_each(?) AS asked ORDER BY asked.key`);
  // In: a segment, and the entity to begin after. Out: the number of members in the next step, and the last of them.
  const some = db.prepare(`SELECT count(*) AS members, max(entity) AS last FROM
    (SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ? ORDER BY entity LIMIT ${COUNTED_AT_ONCE})`);
  // As `some`, with the number of them that are members of the other segment too.
  const both = db.prepare(`SELECT count(*) AS members, max(a.entity) AS last, count(b.entity) AS shared FROM
    (SELECT entity FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?3 ORDER BY entity LIMIT ${COMPARED_AT_ONCE}) a
    LEFT JOIN membership b ON b.entity = a.entity AND b.segment = ?2 AND b.member = 1`);
  // As `some` and `both` for segments that were deleted at ?4 and ?5: void statements are not counted. They read the
  // rows, not only an index.
  const someValid =
    db.prepare(`SELECT count(*) AS members, max(entity) AS last, sum(time > ?3 AND arrival > ?3) AS valid FROM
    (SELECT entity, time, arrival FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?2
     ORDER BY entity LIMIT ${COMPARED_AT_ONCE})`);
  const bothValid = db.prepare(`SELECT count(*) AS members, max(a.entity) AS last,
      sum(a.time > ?4 AND a.arrival > ?4 AND coalesce(b.time > ?5 AND b.arrival > ?5, 0)) AS shared FROM
    (SELECT entity, time, arrival FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?3
     ORDER BY entity LIMIT ${COMPARED_AT_ONCE}) a
    LEFT JOIN membership b ON b.entity = a.entity AND b.segment = ?2 AND b.member = 1`);
  const { ending } = segmentDeletions(db);

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

  async function validSizeOf(segment: string, at: number, pace: () => Promise<void> | undefined): Promise<number> {
    let size = 0;
    for (let after = ""; ; ) {
      await pace();
      type Row = { members: number; last: string | null; valid: number | null };
      const { members, last, valid } = someValid.get(segment, after, at) as Row;
      size += valid ?? 0;
      if (last === null || members < COMPARED_AT_ONCE) return size;
      after = last;
    }
  }

  async function sizes(segments: readonly string[]): Promise<number[]> {
    const pace = pacer(PACE_MS);
    const counted: number[] = [];
    const deletions = ending();
    for (let from = 0; from < segments.length; from += SEGMENTS_AT_ONCE) {
      await pace();
      const part = segments.slice(from, from + SEGMENTS_AT_ONCE);
      const found = few.all(JSON.stringify(part)) as { members: number }[];
      for (const [i, { members }] of found.entries()) {
        const segment = part[i] as string;
        const at = deletions.get(segment);
        if (at !== undefined) counted.push(await validSizeOf(segment, at, pace));
        else counted.push(members < FEW_MEMBERS ? members : await sizeOf(segment, pace));
      }
    }
    return counted;
  }

  return {
    sizes,

    async overlap(a, b) {
      const [ofA = 0, ofB = 0] = await sizes([a, b]);
      const [fewer, more] = ofA < ofB ? [a, b] : [b, a];
      const deletions = ending();
      const cutOffs = [fewer, more].map((segment) => deletions.get(segment) ?? -Number.MAX_VALUE);
      const isEnding = deletions.has(a) || deletions.has(b);
      const pace = pacer(PACE_MS);
      let overlap = 0;
      for (let after = ""; ; ) {
        await pace();
        const row = isEnding ? bothValid.get(fewer, more, after, ...cutOffs) : both.get(fewer, more, after);
        const { members, last, shared } = row as { members: number; last: string | null; shared: number | null };
        overlap += shared ?? 0;
        if (last === null || members < COMPARED_AT_ONCE) return overlap;
        after = last;
      }
    },
  };
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
  const steps = [1, 0].map((member) => ({
    find: db.prepare(`SELECT count(*) AS found, max(entity) AS last FROM
      (SELECT entity FROM membership WHERE segment = ? AND member = ${member} AND entity > ? ORDER BY entity LIMIT ${AT_ONCE})`),
    remove:
      db.prepare(`DELETE FROM membership WHERE segment = ?1 AND member = ${member} AND entity > ?2 AND entity <= ?3
      AND (time <= ?4 OR arrival <= ?4)`),
  }));
  let place = { id: "", at: 0, step: 0, after: "" };

  return () => {
    const ending = findEnding.get() as { id: string; at: number } | undefined;
    if (ending === undefined) return false;
    if (ending.id !== place.id || ending.at !== place.at) place = { ...ending, step: 0, after: "" };
    const { id, at, step, after } = place;
    const { find, remove } = steps[step] as (typeof steps)[number];
    const { found, last } = find.get(id, after) as { found: number; last: string | null };
    withoutSync(db, () => {
      if (last !== null) remove.run(id, after, last, at);
      if (last !== null && found === AT_ONCE) place = { ...place, after: last };
      else if (step + 1 < steps.length) place = { ...place, step: step + 1, after: "" };
      else end.run(id);
    });
    return true;
  };
}
