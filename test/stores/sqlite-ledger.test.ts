import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { closeDatabase, openDatabase } from "../../src/stores/sqlite/database.js";
import { entityKeysSchema } from "../../src/stores/sqlite/entity-keys.js";
import { entitySchema } from "../../src/stores/sqlite/entity-store.js";
import { erasureWatermarkSchema } from "../../src/stores/sqlite/erasure-watermark.js";
import { keySchema } from "../../src/stores/sqlite/key-store.js";
import { ledgerSchema, sqliteLedger } from "../../src/stores/sqlite/ledger.js";
import { ledgerMigrations } from "../../src/stores/sqlite/ledger-migrations.js";
import { entityKeysContract } from "../contracts/entity-keys.contract.js";
import { erasureWatermarkContract } from "../contracts/erasure-watermark.contract.js";
import { ledgerContract, noScope, someDeletion } from "../contracts/ledger.contract.js";
import { suppressionContract } from "../contracts/suppression.contract.js";
import { wakeUpContract } from "../contracts/wake-up.contract.js";
import { commitOf } from "../support/commits.js";
import { findBytes } from "../support/files.js";
import { temporaryStores } from "../support/stores.js";

const openLedger = async () => {
  const { stores, close } = await temporaryStores();
  return { ledger: stores.ledger, suppression: stores.suppression, entities: stores.entities, close };
};

ledgerContract("sqlite", openLedger);
suppressionContract("sqlite", openLedger);

entityKeysContract("sqlite", async () => {
  const { stores, dir, close } = await temporaryStores();
  return {
    keys: stores.entityKeys,
    async add(keys) {
      await stores.entities.commit(commitOf([], { keys }));
    },
    countHeld: (keys) => new Set(findBytes(dir, keys).map(({ needle }) => needle)).size,
    close,
  };
});

erasureWatermarkContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return { watermark: stores.watermark, close };
});

wakeUpContract("sqlite", async () => {
  const { stores, close } = await temporaryStores();
  return {
    wakeUp: stores.wakeUp,
    async close() {
      await stores.wakeUp.close();
      await close();
    },
  };
});

describe("the ledger of sqlite, in a file of schema 2", () => {
  it("is brought up with its requests, waits and leases", async () => {
    const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
    const data = openDatabase(dir, "entities.db", [entitySchema, erasureWatermarkSchema]);
    const first = openDatabase(dir, "ledger.db", [ledgerSchema, keySchema, entityKeysSchema], ledgerMigrations(dir));
    await sqliteLedger(first, data).accept(someDeletion("a", { attempts: 1, notBefore: 500 }), noScope);
    first.exec("ALTER TABLE deletion DROP COLUMN noted_at; ALTER TABLE deletion DROP COLUMN runner_since");
    first.exec("PRAGMA user_version = 2");
    closeDatabase(first);

    const second = openDatabase(dir, "ledger.db", [ledgerSchema, keySchema, entityKeysSchema], ledgerMigrations(dir));
    const ledger = sqliteLedger(second, data);
    expect(await ledger.open({ limit: 1, due: 499 })).to.deep.equal([]);
    expect(await ledger.open({ limit: 1, due: 500 })).to.have.length(1);
    expect(await ledger.lease("a-1700000000", "one", 500, 900)).to.equal(true);
    for (const db of [second, data]) closeDatabase(db);
    rmSync(dir, { recursive: true, force: true });
  });
});
