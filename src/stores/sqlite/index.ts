import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Settings } from "../../config/settings.js";
import { StartError } from "../../errors.js";
import type { Probe } from "../../meters.js";
import type { EngineDependencies, EntityEngine, MetricEngine, OpenKeys } from "../stores.js";
import { sqliteCatalogueStore } from "./catalogue/catalogue-store.js";
import { sqliteKeyStore } from "./catalogue/key-store.js";
import { sqliteMarkStore } from "./catalogue/mark-store.js";
import { checkWrites, type Database, sqliteServiceError, unavailable } from "./connection.js";
import { factsOf } from "./database-facts.js";
import { recordAccepted } from "./deletions/accepted-file.js";
import { sqliteLedger } from "./deletions/ledger.js";
import { matchLedger } from "./deletions/ledger-match.js";
import { sqliteSuppression } from "./deletions/suppression.js";
import { foldersOf } from "./folder.js";
import { entitiesFile, ledgerFile, metricsFile } from "./layout.js";
import { sqliteLease } from "./lease.js";
import { openDatabase } from "./open-database.js";
import { OpenFiles } from "./open-files.js";
import { openPepper } from "./pepper.js";
import { sqliteEntityKeys } from "./profiles/entity-keys.js";
import { sqliteEntityStore } from "./profiles/entity-store.js";
import { sqliteHistory } from "./profiles/history.js";
import { sqliteIdempotency } from "./profiles/idempotency.js";
import { sqliteMembershipIndex } from "./profiles/membership-index.js";
import { outboxWrites, sqliteOutbox } from "./profiles/outbox.js";
import { sqliteRaiseOrder } from "./raise-order.js";
import { DamagedRow } from "./series/chunks.js";
import { sqliteSeriesStore } from "./series/series-store.js";
import { sqliteSlotCounts } from "./series/slot-counts.js";

/**
 * Opens the embedded engine for profiles: `ledger.db` and `entities.db` in one folder. Locks that folder and `data_dir`
 * for this process.
 */
export async function openSqliteEntities({
  settings,
  log,
  clock,
  failpoint,
}: EngineDependencies): Promise<EntityEngine> {
  const { data, entities } = foldersOf(settings);
  return openedFiles(async (files) => {
    files.lock("entities", data, entities);
    const pepperOf = (ledger: Database) => openPepper(data, ledger, settings.pepper);
    const ledgerDb = files.open(entities, ledgerFile, { log, failpoint, beforeUpgrade: pepperOf });
    const entitiesDb = files.open(entities, entitiesFile, { log, failpoint });
    const mark = await matchLedger(ledgerDb, entitiesDb, entities);
    const outbox = outboxWrites(entitiesDb, settings.hooks);
    return {
      entities: sqliteEntityStore(entitiesDb, ledgerDb, clock, outbox),
      memberships: sqliteMembershipIndex(entitiesDb, clock),
      history: sqliteHistory(entitiesDb),
      outbox: sqliteOutbox(entitiesDb),
      idempotency: sqliteIdempotency(entitiesDb, ledgerDb),
      repeatedDeletions: sqliteIdempotency(ledgerDb, ledgerDb),
      catalogue: sqliteCatalogueStore(entitiesDb, outbox),
      marks: sqliteMarkStore(entitiesDb),
      keys: sqliteKeyStore(ledgerDb),
      counts: sqliteSlotCounts(entitiesDb),
      lease: sqliteLease(),
      raiseOrder: sqliteRaiseOrder(entitiesDb, clock),
      facts: factsOf(entitiesDb),
      ledger: sqliteLedger(ledgerDb, entitiesDb, recordAccepted(entities, mark)),
      suppression: sqliteSuppression(ledgerDb),
      commitMs: 0,
      entityKeys: sqliteEntityKeys(ledgerDb, failpoint),
      probes: [probe("ledger", ledgerDb, entities), probe("entities", entitiesDb, entities)],
      pepper: pepperOf(ledgerDb),
      toServiceError: sqliteServiceError,
      startErrorOf: (error) => files.startErrorOf(error),
      close: async () => files.close(),
    };
  });
}

/** Opens the embedded engine for series: `metrics.db` in a folder that is locked for this process. */
export async function openSqliteMetrics({
  settings,
  log,
  failpoint,
  cache,
}: EngineDependencies): Promise<MetricEngine> {
  const { metrics } = foldersOf(settings);
  return openedFiles(async (files) => {
    files.lock("metrics", metrics);
    const db = files.open(metrics, metricsFile, { log, failpoint });
    const foldFailed = (err: unknown) => log.error({ err }, "the journal of metrics.db could not be folded; retrying");
    const damaged = ({ message }: Error) =>
      log.error(`${message}. Until then reads of it fail, and points written to it stay in the journal`);
    const series = sqliteSeriesStore(db, { failpoint, foldFailed, damaged, cache });
    return {
      series,
      ownsSeries: true,
      probes: [probe("metrics", db, metrics)],
      toServiceError: (error) => (error instanceof DamagedRow ? unavailable(error) : sqliteServiceError(error)),
      async close() {
        await series.close();
        files.close();
      },
    };
  });
}

/** Closes the files that `open` has opened if it fails. An error that damage may have caused names the damaged file. */
async function openedFiles<E>(open: (files: OpenFiles) => Promise<E>): Promise<E> {
  const files = new OpenFiles();
  try {
    return await open(files);
  } catch (error) {
    const reported = files.startErrorOf(error) ?? error;
    files.close();
    throw reported;
  }
}

/**
 * Opens only the API keys, also while a service runs: without the lock, the pepper or the data. Creates no folder and
 * no ledger.
 */
export function openSqliteKeys(settings: Settings): OpenKeys {
  const { entities } = foldersOf(settings);
  const ledger = join(entities, ledgerFile.name);
  const missing = [entities, ledger].find((path) => !existsSync(path));
  if (missing !== undefined)
    throw new StartError(`${missing} does not exist: start the service once, or name its DATA_DIR`);
  const db = openDatabase(entities, ledgerFile, { isShared: true });
  return { keys: sqliteKeyStore(db), close: async () => db.close() };
}

/**
 * Free space below which a write may be refused, bytes: a write-ahead log, a fold and a file take up to 32 MiB each.
 */
const LOW_SPACE_BYTES = 64 * 1024 * 1024;

/** Probes a file with a read that reaches it, the outcome of its writes, and the free space of its folder. */
function probe(name: string, db: Database, folder: string): Probe {
  const read = db.prepare("SELECT count(*) FROM sqlite_schema");
  return {
    name,
    required: true,
    async check() {
      read.get();
      const reason = checkWrites(db);
      if (reason !== undefined) return `Writes fail: ${reason}`;
      const { bavail, bsize } = await statfs(folder);
      return bavail * bsize < LOW_SPACE_BYTES ? "The disk has less than 64 MiB free: writes may be refused" : undefined;
    },
  };
}
