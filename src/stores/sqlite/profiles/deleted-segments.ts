import type { SegmentDeletion, SegmentDeletions } from "../../../entities/profile/entity.js";
import { SEGMENT_GENERATION } from "../../database-facts.js";
import { type Database, withoutSync } from "../connection.js";
import { raiseTo } from "../database-facts.js";

/**
 * `segment_removed`: the last deletion of each segment (see `SegmentDeletion`), and whether void updates about it
 * may still be stored. Rows stay: full lists that are older than a deletion are compared with it.
 */
export const deletedSegmentsSchema = `
  CREATE TABLE IF NOT EXISTS segment_removed (
    id TEXT PRIMARY KEY, deleted_at REAL NOT NULL, ending INTEGER NOT NULL, generation INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS segment_ending ON segment_removed (id) WHERE ending = 1;`;

/** Deletions of segments. */
export function segmentDeletions(db: Database) {
  const findEnding = db.prepare("SELECT id, generation FROM segment_removed WHERE ending = 1");
  const find = db.prepare(`SELECT id, generation, deleted_at AS at FROM segment_removed
    WHERE id IN (SELECT value FROM json_each(?))`);
  const insert = db.prepare(`INSERT INTO segment_removed (id, deleted_at, ending, generation) VALUES (?, ?, 1, ?)
    ON CONFLICT DO UPDATE
    SET deleted_at = max(deleted_at, excluded.deleted_at), ending = 1, generation = excluded.generation`);
  type Row = SegmentDeletion & { readonly id: string };

  const findNewest = db.prepare(`SELECT value FROM fact WHERE name = '${SEGMENT_GENERATION}'`);
  const raise = raiseTo(db);
  const newest = () => (findNewest.get() as { value: number } | undefined)?.value ?? 0;

  /** Begins a generation, inside the caller's transaction, and returns it. */
  function begin(): number {
    const generation = newest() + 1;
    raise(SEGMENT_GENERATION, generation);
    return generation;
  }

  return {
    /** Returns the newest generation; 0: none. */
    newest,
    begin,

    /** Returns the generations of the segments whose void updates may still be stored. */
    ending: () => new Map((findEnding.all() as unknown as Row[]).map(({ id, generation }) => [id, generation])),

    of(segments: readonly string[]): SegmentDeletions {
      const rows = find.all(JSON.stringify(segments)) as unknown as Row[];
      return { newest: newest(), bySegment: new Map(rows.map(({ id, generation, at }) => [id, { generation, at }])) };
    },

    /** Stores a deletion at `at` (Unix ms), inside the caller's transaction, and returns the generation it begins. */
    record(segment: string, at: number): number {
      const generation = begin();
      insert.run(segment, at, generation);
      return generation;
    },
  };
}

/** Updates read by one step of a removal; other requests run between steps. */
const UPDATES_PER_STEP = 1_000;

/**
 * Removes void updates, one step per call, segment by segment; returns false if none is left. No commit stores a
 * void update after the deletion, so each update is read once, unless the process restarts.
 */
export function voidRemoval(db: Database): () => boolean {
  const findEnding = db.prepare("SELECT id, generation FROM segment_removed WHERE ending = 1 LIMIT 1");
  const end = db.prepare("UPDATE segment_removed SET ending = 0 WHERE id = ?");
  // The two indexes on segments contain members and former members.
  const entitiesOf = (member: 0 | 1) =>
    `SELECT entity, generation FROM membership WHERE segment = ?1 AND member = ${member} AND entity > ?2`;
  const find = db.prepare(`SELECT iif(count(*) < ${UPDATES_PER_STEP}, NULL, max(entity)) AS next,
      json_group_array(entity) FILTER (WHERE generation < ?3) AS ended
    FROM (${entitiesOf(1)} UNION ALL ${entitiesOf(0)} ORDER BY entity LIMIT ${UPDATES_PER_STEP})`);
  const remove = db.prepare("DELETE FROM membership WHERE segment = ? AND entity IN (SELECT value FROM json_each(?))");
  let place = { id: "", generation: 0, after: "" };

  return () => {
    const ending = findEnding.get() as { id: string; generation: number } | undefined;
    if (ending === undefined) return false;
    if (ending.id !== place.id || ending.generation !== place.generation) place = { ...ending, after: "" };
    const { id, generation, after } = place;
    const { next, ended } = find.get(id, after, generation) as { next: string | null; ended: string };
    withoutSync(db, () => {
      remove.run(id, ended);
      if (next === null) end.run(id);
      else place = { ...place, after: next };
    });
    return true;
  };
}
