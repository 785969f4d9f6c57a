import { yieldWhenDue } from "../../../async/yielding.js";
import type { Clock } from "../../../clock.js";
import type { MembershipIndex } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { moveCounts, type SegmentMove } from "../../../metrics/added-counts.js";
import { type Database, inTransaction, sharingCommits } from "../connection.js";
import { addSlotCount } from "../series/slot-counts.js";
import { segmentDeletions } from "./deleted-segments.js";

/** The newest update for each (entity, segment) ever named. */
export const membershipSchema = `
  CREATE TABLE IF NOT EXISTS membership (
    entity TEXT NOT NULL REFERENCES entity ON DELETE CASCADE, segment TEXT NOT NULL, member INTEGER NOT NULL,
    time REAL NOT NULL, arrival REAL NOT NULL, position INTEGER NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (entity, segment)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS membership_member ON membership (segment, entity) WHERE member = 1;
  CREATE INDEX IF NOT EXISTS membership_segment ON membership (segment) WHERE member = 0;`;

/** Memberships in `entities.db`; `sqliteEntityStore` writes them. */
export function sqliteMembershipIndex(db: Database, clock: Clock): MembershipIndex {
  const remove = membershipRemoval(db);
  const { sizes, overlap } = memberCounts(db);
  const membersAfter = db.prepare(`SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ?
    ORDER BY entity LIMIT ?`);
  const stored = db.prepare("SELECT 1 FROM membership WHERE entity IN (SELECT value FROM json_each(?)) LIMIT 1");

  return {
    sizes,
    overlap,

    async members(segment, after = "", limit) {
      return (membersAfter.all(segment, after, limit) as { entity: EntityId }[]).map(({ entity }) => entity);
    },

    // Counts members who are still stored: the process ended before their deletion was counted, or the data are older
    // than the deletion.
    erase: sharingCommits((entities: readonly EntityId[]) => inTransaction(db, () => remove(entities, clock()))),

    holds: async (entities) => stored.get(JSON.stringify(entities)) !== undefined,
  };
}

/**
 * Returns the removal of all data about entities, inside the caller's transaction. It counts the members as people who
 * left at `at` (Unix ms): each once, as a later call does not find them.
 */
export function membershipRemoval(db: Database): (entities: readonly EntityId[], at: number) => void {
  const left = db.prepare(`SELECT segment FROM membership LEFT JOIN segment_removed ON id = segment AND ending = 1
    WHERE entity = ? AND member = 1 AND membership.generation >= coalesce(segment_removed.generation, 0)`);
  const addCount = db.prepare(addSlotCount);
  const updates = db.prepare("DELETE FROM membership WHERE entity = ?");
  return (entities, at) => {
    const moves: SegmentMove[] = [];
    for (const entity of entities) {
      for (const { segment } of left.all(entity) as { segment: string }[]) moves.push({ segment, change: -1 });
      updates.run(entity);
    }
    for (const { stream, slot, count } of moveCounts(moves, at)) addCount.run(stream, slot, count);
  };
}

/** Entries that one step counts from an index. */
export const COUNTED_AT_ONCE = 50_000;

/** Members of which one step reads the updates. */
const COMPARED_AT_ONCE = 10_000;

/** Result of a step: the last entity of the step, after which the next one begins; null if it was the last step. */
interface CountStep {
  readonly counted: number;
  readonly next: string | null;
}

/** Counts any number of members in steps of a few ms. */
function memberCounts(db: Database): Pick<MembershipIndex, "sizes" | "overlap"> {
  const members = db.prepare(`SELECT count(*) AS counted, iif(count(*) < ${COUNTED_AT_ONCE}, NULL, max(entity)) AS next
    FROM (SELECT entity FROM membership WHERE segment = ? AND member = 1 AND entity > ?
     ORDER BY entity LIMIT ${COUNTED_AT_ONCE})`);
  // Members of two segments whose updates are not void.
  const shared = db.prepare(`SELECT iif(count(*) < ${COMPARED_AT_ONCE}, NULL, max(a.entity)) AS next,
      count(*) FILTER (WHERE a.generation >= ?4 AND b.generation >= ?5) AS counted
    FROM (SELECT entity, generation FROM membership WHERE segment = ?1 AND member = 1 AND entity > ?3
     ORDER BY entity LIMIT ${COMPARED_AT_ONCE}) a
    LEFT JOIN membership b ON b.entity = a.entity AND b.segment = ?2 AND b.member = 1`);
  const { ending } = segmentDeletions(db);

  async function sizes(segments: readonly string[]): Promise<number[]> {
    const generations = ending();
    const counts: number[] = [];
    for (const segment of segments) {
      const count = generations.has(segment)
        ? sharedBy(segment, segment, generations)
        : total((after) => members.get(segment, after));
      counts.push(await count);
    }
    return counts;
  }

  function sharedBy(a: string, b: string, generations: ReadonlyMap<string, number>): Promise<number> {
    const [ofA, ofB] = [a, b].map((segment) => generations.get(segment) ?? 0);
    return total((after) => shared.get(a, b, after, ofA as number, ofB as number));
  }

  return {
    sizes,

    overlap(a, b) {
      // Starts with the smaller segment; compares the counts of one step only.
      const [ofA, ofB] = [a, b].map((segment) => (members.get(segment, "") as unknown as CountStep).counted);
      const [fewer, more] = (ofA as number) < (ofB as number) ? [a, b] : [b, a];
      return sharedBy(fewer, more, ending());
    },
  };
}

/** Adds up the results of the steps; other requests run between them. */
export async function total(step: (after: string) => unknown): Promise<number> {
  let sum = 0;
  for (let after: string | null = ""; after !== null; ) {
    await yieldWhenDue();
    const { counted, next } = step(after) as CountStep;
    sum += counted;
    after = next;
  }
  return sum;
}
