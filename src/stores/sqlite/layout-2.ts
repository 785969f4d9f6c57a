import { existsSync } from "node:fs";
import { join } from "node:path";
import { EARLIER_OPEN } from "../../deletions/deletion.js";
import type { IdempotentRequest } from "../../entities/ports.js";
import { type Database, DatabaseSync, damagedFile, isDamage } from "./connection.js";
import { idempotencySchema } from "./profiles/idempotency.js";

/**
 * Lets open requests wait for earlier ones over the same identities, and copies the repeatable requests of
 * `entities.db`: those for deletions belong to the ledger now, and cannot be distinguished.
 */
export function ledgerToLayout2(ledger: Database, folder: string): void {
  ledger.exec(idempotencySchema);
  ledger.exec(`UPDATE deletion SET next_target = NULL, runner = NULL, problem = '${EARLIER_OPEN}'
    WHERE completed_at IS NULL AND EXISTS (SELECT 1 FROM json_each(deletion.hashes) AS one
      JOIN open_identity AS earlier ON earlier.hash = one.value WHERE earlier.sequence < deletion.sequence)`);
  const path = join(folder, "entities.db");
  if (!existsSync(path)) return;
  const entities = new DatabaseSync(path);
  try {
    const isStored = entities.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'idempotent_request'").get();
    if (isStored === undefined) return;
    const copy = ledger.prepare(
      "INSERT OR IGNORE INTO idempotent_request (id, arrival, digest, tally) VALUES (?, ?, ?, ?)",
    );
    for (const row of entities.prepare("SELECT id, arrival, digest, tally FROM idempotent_request").iterate()) {
      const { id, arrival, digest, tally } = row as unknown as IdempotentRequest;
      copy.run(id, arrival, digest, tally);
    }
  } catch (error) {
    throw isDamage(error) ? damagedFile(path, error) : error;
  } finally {
    entities.close();
  }
}
