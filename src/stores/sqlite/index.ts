import { existsSync } from "node:fs";
import type { Settings } from "../../config.js";
import { StartError } from "../../errors.js";
import type { Failpoint } from "../../failpoint.js";
import type { KeyStore } from "../../keys/key-store.js";
import { stream } from "../../metrics/dimensions/stream.js";
import type { Probe } from "../../probe.js";
import type { Stores } from "../stores.js";
import { catalogueSchema, sqliteCatalogueStore } from "./catalogue-store.js";
import { sqliteChanges } from "./changes.js";
import { closeDatabase, type Database, openDatabase } from "./database.js";
import { entityKeysSchema, sqliteEntityKeys } from "./entity-keys.js";
import { entitySchema, sqliteEntityStore } from "./entity-store.js";
import { erasureWatermarkSchema, sqliteErasureWatermark } from "./erasure-watermark.js";
import { sqliteFailure } from "./failure.js";
import { lockFolder } from "./folder-lock.js";
import { foldersOf } from "./folders.js";
import { historySchema, sqliteHistory } from "./history.js";
import { idempotencySchema, sqliteIdempotency } from "./idempotency.js";
import { keySchema, sqliteKeyStore } from "./key-store.js";
import { ledgerSchema, sqliteLedger } from "./ledger.js";
import { ledgerMarkSchema, matchLedger } from "./ledger-mark.js";
import { membershipSchema, sqliteMembershipIndex } from "./membership-index.js";
import { openPepper, pepperSchema } from "./pepper.js";
import { seriesSchema, sqliteSeriesStore } from "./series-store.js";
import { claimsSchema, sqliteSlotClaims } from "./slot-claims.js";
import { slotCountSchema, sqliteSlotCounts } from "./slot-counts.js";
import { sqliteSuppression } from "./suppression.js";
import { inProcessWakeUp } from "./wake-up.js";

/** DDL of each file, newest; what brings an older file up to it goes into `migrations`. */
const ledgerFileSchema: readonly string[] = [ledgerMarkSchema, pepperSchema, ledgerSchema, entityKeysSchema];
const entitiesSchema: readonly string[] = [
  ledgerMarkSchema,
  entitySchema,
  membershipSchema,
  historySchema,
  slotCountSchema,
  idempotencySchema,
  keySchema,
  erasureWatermarkSchema,
  catalogueSchema,
  claimsSchema,
];
const metricsSchema: readonly string[] = [seriesSchema];

/**
 * Opens the embedded engine: every port on three files. `ledger.db` and `entities.db` lie in the folder of
 * `entities.url`, `metrics.db` in that of `metrics.url`; both folders, and `data_dir`, are kept for this process alone.
 */
export async function openSqlite(settings: Settings, failpoint?: Failpoint): Promise<Stores> {
  const { data, entities, metrics } = foldersOf(settings);
  const unlock: (() => void)[] = [];
  const open: Database[] = [];
  const openFile = (dir: string, name: string, schema: readonly string[]) => {
    const db = openDatabase(dir, name, schema);
    open.push(db);
    return db;
  };
  const close = async () => {
    for (const db of open.splice(0)) closeDatabase(db);
    for (const release of unlock.splice(0)) release();
  };

  try {
    for (const folder of new Set([data, entities, metrics])) unlock.push(lockFolder(folder));
    const ledgerDb = openFile(entities, "ledger.db", ledgerFileSchema);
    const entitiesDb = openFile(entities, "entities.db", entitiesSchema);
    matchLedger(ledgerDb, entitiesDb, entities);
    const pepper = openPepper(data, ledgerDb, settings.pepper);
    const metricsDb = openFile(metrics, "metrics.db", metricsSchema);
    return {
      series: sqliteSeriesStore(metricsDb),
      changes: sqliteChanges(),
      entities: sqliteEntityStore(entitiesDb),
      memberships: sqliteMembershipIndex(entitiesDb),
      history: sqliteHistory(entitiesDb, stream.slotMs),
      idempotency: sqliteIdempotency(entitiesDb),
      catalogue: sqliteCatalogueStore(entitiesDb),
      keys: sqliteKeyStore(entitiesDb),
      counts: sqliteSlotCounts(entitiesDb),
      claims: sqliteSlotClaims(entitiesDb),
      watermark: sqliteErasureWatermark(entitiesDb),
      ledger: sqliteLedger(ledgerDb),
      suppression: sqliteSuppression(ledgerDb),
      entityKeys: sqliteEntityKeys(ledgerDb, failpoint),
      wakeUp: inProcessWakeUp(),
      probes: [probe("ledger", ledgerDb), probe("entities", entitiesDb), probe("metrics", metricsDb)],
      pepper,
      failureOf: sqliteFailure,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the API keys alone, also beside a running service: without the lock, the pepper or the other files. Makes no folder. */
export function openSqliteKeys(settings: Settings): { keys: KeyStore; close(): Promise<void> } {
  const { entities } = foldersOf(settings);
  if (!existsSync(entities))
    throw new StartError(`${entities} does not exist: start the service once, or name its DATA_DIR`);
  const db = openDatabase(entities, "entities.db", entitiesSchema);
  return { keys: sqliteKeyStore(db), close: async () => db.close() };
}

/** A read that reaches the file. */
function probe(name: string, db: Database): Probe {
  const read = db.prepare("SELECT count(*) FROM sqlite_schema");
  return {
    name,
    required: true,
    async check() {
      read.get();
      return undefined;
    },
  };
}
