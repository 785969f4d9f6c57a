import type { UpgradeStep } from "../open-database.js";

/** Upgrades of `ledger.db` from the layout of version 1.0.0. */
export const ledgerSteps: readonly UpgradeStep[] = [
  // In layout 3 a request waited for an earlier one with a null `next_target`, some open ones had left `open_identity`,
  // a key had the number of its request, and a document also had the first of its hashes.
  (db) =>
    db.exec(`DROP INDEX deletion_due;
      INSERT OR IGNORE INTO open_identity
        SELECT value, sequence FROM deletion, json_each(document, '$.hashes') WHERE completed_at IS NULL;
      UPDATE deletion SET problem = NULL WHERE completed_at IS NULL AND next_target IS NULL;
      UPDATE deletion SET next_target = NULL WHERE next_target = '';
      UPDATE deletion SET document = json_remove(document, '$.identity');
      ALTER TABLE deletion_key RENAME COLUMN sequence TO id;
      ALTER TABLE deletion ADD COLUMN key_id INTEGER;
      UPDATE deletion SET key_id = sequence
        WHERE completed_at IS NULL AND sequence IN (SELECT id FROM deletion_key);`),
];
