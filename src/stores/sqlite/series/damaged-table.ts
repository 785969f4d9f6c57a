import { StartError } from "../../../errors.js";
import type { Database } from "../connection.js";

/**
 * Refuses a table of `metrics.db` with damaged pages or a damaged index, as rows could be missing without an error.
 * Reads all of it.
 */
export function refuseDamagedTable(db: Database, table: string): void {
  let verdict: string;
  try {
    verdict = (db.prepare(`PRAGMA integrity_check(${table})`).get() as { integrity_check: string }).integrity_check;
  } catch (error) {
    verdict = (error as Error).message;
  }
  if (verdict === "ok") return;
  const reason = verdict.replaceAll(/\s+/g, " ");
  throw new StartError(`The table ${table} in metrics.db is damaged (${reason}): put back a backup of the file`);
}
