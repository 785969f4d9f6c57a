import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../../config.js";
import { StartError } from "../../errors.js";
import type { KeyStore } from "../../keys/key-store.js";
import type { Probe } from "../../meters.js";
import { stream } from "../../metrics/dimensions/stream.js";
import type { EntityEngine, MetricEngine, OpenParts } from "../stores.js";
import { catalogueSchema, sqliteCatalogueStore } from "./catalogue-store.js";
import { closeDatabase, type Database, openDatabase } from "./database.js";
import { entitiesMigrations } from "./entities-migrations.js";
import { entityKeysSchema, sqliteEntityKeys } from "./entity-keys.js";
import { entitySchema, sqliteEntityStore } from "./entity-store.js";
import { erasureWatermarkSchema, sqliteErasureWatermark } from "./erasure-watermark.js";
import { sqliteServiceError } from "./errors.js";
import { lockFolder } from "./folder-lock.js";
import { foldersOf } from "./folders.js";
import { historySchema, sqliteHistory } from "./history.js";
import { idempotencySchema, sqliteIdempotency } from "./idempotency.js";
import { dropOldKeys, keySchema, sqliteKeyStore } from "./key-store.js";
import { leaseSchema, sqliteLease } from "./lease.js";
import { ledgerSchema, sqliteLedger } from "./ledger.js";
import { ledgerMarkSchema, matchLedger } from "./ledger-mark.js";
import { ledgerMigrations } from "./ledger-migrations.js";
import { membershipSchema, sqliteMembershipIndex } from "./membership-index.js";
import { openPepper, pepperSchema } from "./pepper.js";
import type { Migration } from "./schema.js";
import { seriesMigrations, seriesSchema, sqliteSeriesStore } from "./series-store.js";
import { slotCountSchema, sqliteSlotCounts } from "./slot-counts.js";
import { sqliteSuppression } from "./suppression.js";

/** DDL of each file, newest; what brings an older file up to it goes into `migrations`. */
export const ledgerFileSchema: readonly string[] = [
  ledgerMarkSchema,
  pepperSchema,
  ledgerSchema,
  entityKeysSchema,
  keySchema,
];
export const entitiesSchema: readonly string[] = [
  ledgerMarkSchema,
  entitySchema,
  membershipSchema,
  historySchema,
  slotCountSchema,
  idempotencySchema,
  erasureWatermarkSchema,
  catalogueSchema,
  leaseSchema,
];
export const metricsSchema: readonly string[] = [seriesSchema];

/** Opens the embedded engine for profiles: `ledger.db` and `entities.db` in one folder, kept for this process alone, as `data_dir` is. */
export async function openSqliteEntities({ settings, failpoint }: OpenParts): Promise<EntityEngine> {
  const { data, entities } = foldersOf(settings);
  const files = new OpenFiles();
  try {
    files.lock(data, entities);
    const ledgerDb = files.open(entities, "ledger.db", ledgerFileSchema, ledgerMigrations(entities));
    const entitiesDb = files.open(entities, "entities.db", entitiesSchema, entitiesMigrations(entities));
    matchLedger(ledgerDb, entitiesDb, entities);
    dropOldKeys(entitiesDb);
    const pepper = openPepper(data, ledgerDb, settings.pepper);
    return {
      entities: sqliteEntityStore(entitiesDb, ledgerDb, stream.slotMs),
      memberships: sqliteMembershipIndex(entitiesDb),
      history: sqliteHistory(entitiesDb),
      idempotency: sqliteIdempotency(entitiesDb),
      catalogue: sqliteCatalogueStore(entitiesDb),
      keys: sqliteKeyStore(ledgerDb),
      counts: sqliteSlotCounts(entitiesDb),
      lease: sqliteLease(entitiesDb),
      watermark: sqliteErasureWatermark(entitiesDb),
      ledger: sqliteLedger(ledgerDb, entitiesDb),
      suppression: sqliteSuppression(ledgerDb),
      entityKeys: sqliteEntityKeys(ledgerDb, failpoint),
      shared: false,
      probes: [probe("ledger", ledgerDb), probe("entities", entitiesDb)],
      pepper,
      serviceErrorOf: sqliteServiceError,
      close: async () => files.close(),
    };
  } catch (error) {
    files.close();
    throw error;
  }
}

/** Opens the embedded engine for series: `metrics.db`. Its folder is kept for this process alone, unless it is that of the profiles. */
export async function openSqliteMetrics(settings: Settings): Promise<MetricEngine> {
  const { data, entities, metrics } = foldersOf(settings);
  const files = new OpenFiles();
  try {
    const locked = settings.entities.url.startsWith("sqlite:") ? [data, entities] : [];
    if (!locked.includes(metrics)) files.lock(metrics);
    const db = files.open(metrics, "metrics.db", metricsSchema, seriesMigrations(metrics));
    return {
      series: sqliteSeriesStore(db),
      exclusive: true,
      retentionMs: () => undefined,
      probes: [probe("metrics", db)],
      serviceErrorOf: sqliteServiceError,
      close: async () => files.close(),
    };
  } catch (error) {
    files.close();
    throw error;
  }
}

/** Files and folders that were opened together, and are closed together. */
class OpenFiles {
  readonly #open: Database[] = [];
  readonly #unlock: (() => void)[] = [];

  lock(...folders: string[]): void {
    for (const folder of new Set(folders)) this.#unlock.push(lockFolder(folder));
  }

  open(dir: string, name: string, schema: readonly string[], migrations: readonly Migration[] = []): Database {
    const db = openDatabase(dir, name, schema, migrations);
    this.#open.push(db);
    return db;
  }

  close(): void {
    for (const db of this.#open.splice(0)) closeDatabase(db);
    for (const release of this.#unlock.splice(0)) release();
  }
}

/** Opens the API keys alone, also beside a running service: without the lock, the pepper or the data. Makes no folder and no ledger. */
export function openSqliteKeys(settings: Settings): { keys: KeyStore; close(): Promise<void> } {
  const { entities } = foldersOf(settings);
  const ledger = join(entities, "ledger.db");
  const missing = [entities, ledger].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new StartError(`${missing} does not exist: start the service once, or name its DATA_DIR`);
  const db = openDatabase(entities, "ledger.db", ledgerFileSchema, ledgerMigrations(entities));
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
