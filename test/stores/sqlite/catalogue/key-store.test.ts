import { keySchema, sqliteKeyStore } from "../../../../src/stores/sqlite/catalogue/key-store.js";
import { closeDatabase } from "../../../../src/stores/sqlite/connection.js";
import { openDatabase } from "../../../../src/stores/sqlite/open-database.js";
import { keyStoreContract } from "../../../contracts/key-store.contract.js";
import { dataFolder } from "../../../support/data-folder.js";

keyStoreContract("sqlite", async () => {
  const dir = dataFolder();
  const db = openDatabase(dir, { name: "ledger.db", schema: [keySchema] });
  return {
    store: sqliteKeyStore(db),
    async close() {
      closeDatabase(db);
    },
  };
});
