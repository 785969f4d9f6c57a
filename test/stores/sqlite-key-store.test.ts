import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeDatabase, openDatabase } from "../../src/stores/sqlite/connection.js";
import { keySchema, sqliteKeyStore } from "../../src/stores/sqlite/key-store.js";
import { keyStoreContract } from "../contracts/key-store.contract.js";

keyStoreContract("sqlite", async () => {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  const db = openDatabase(dir, { name: "ledger.db", schema: [keySchema], migrations: [] });
  return {
    store: sqliteKeyStore(db),
    async close() {
      closeDatabase(db);
      rmSync(dir, { recursive: true, force: true });
    },
  };
});
