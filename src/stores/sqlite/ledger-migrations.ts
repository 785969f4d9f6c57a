import { copyOldKeys } from "./key-store.js";
import { addBeginnings } from "./ledger.js";
import type { Migration } from "./schema.js";

/** Migrations of `ledger.db` in this folder: each leads to the next schema version, the first one from 1 to 2. */
export function ledgerMigrations(dir: string): readonly Migration[] {
  return [(ledger) => copyOldKeys(dir, ledger), addBeginnings];
}
