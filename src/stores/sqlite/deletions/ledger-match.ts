import { matchLedger as matchFacts, NEWEST } from "../../database-facts.js";
import { type Database, refuseDamaged } from "../connection.js";
import { factsOf } from "../database-facts.js";
import { checkAccepted } from "./accepted-file.js";

/**
 * Refuses damaged files, and data that does not belong to its ledger. Marks new data. Returns the mark of the ledger.
 */
export async function matchLedger(ledger: Database, entities: Database, dir: string): Promise<string> {
  const accepted = acceptedBy(ledger);
  try {
    const mark = await matchFacts(
      {
        facts: factsOf(ledger),
        name: `ledger.db in ${dir}`,
        accepted: async () => accepted,
        hasNewest: async () => hasKeys(ledger, newestEntities(entities)),
      },
      { facts: factsOf(entities), name: "entities.db" },
    );
    checkAccepted(dir, mark, accepted);
    return mark;
  } catch (error) {
    // A damaged file may lack rows that it had.
    for (const db of [ledger, entities]) refuseDamaged(db);
    throw error;
  }
}

/** Query for the number of the newest deletion ever accepted. */
export const NEWEST_DELETION = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'deletion'), 0)";

/** Returns the number of the newest deletion ever accepted. */
export function acceptedBy(ledger: Database): number {
  return (ledger.prepare(`SELECT ${NEWEST_DELETION} AS newest`).get() as { newest: number }).newest;
}

/** See `Ledger.settledSequence`. */
export function settledSequence(ledger: Database): number {
  const settled = `coalesce((SELECT min(sequence) - 1 FROM deletion WHERE completed_at IS NULL), ${NEWEST_DELETION})`;
  return (ledger.prepare(`SELECT ${settled} AS sequence`).get() as { sequence: number }).sequence;
}

/**
 * Returns the ids of the newest profiles, and of the profiles of the newest messages, which may have been merged since.
 */
function newestEntities(entities: Database): string[] {
  const rows = entities
    .prepare(`SELECT * FROM (SELECT id FROM entity ORDER BY rowid DESC LIMIT ?1)
      UNION SELECT entity FROM (SELECT entity FROM message ORDER BY arrival DESC LIMIT ?1)`)
    .all(NEWEST);
  return (rows as { id: string }[]).map(({ id }) => id);
}

/** Returns whether the ledger has a key, overwritten or not, for each of these ids. */
function hasKeys(ledger: Database, ids: readonly string[]): boolean {
  const found = ledger
    .prepare("SELECT count(*) AS count FROM entity_key WHERE entity IN (SELECT value FROM json_each(?))")
    .get(JSON.stringify(ids)) as { count: number };
  return found.count === ids.length;
}
