import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { StartError } from "../../errors.js";
import type { ProfileSource, SeriesSource } from "../copy.js";
import { closeDatabase, type Database, openDatabase } from "./database.js";
import { entitiesMigrations } from "./entities-migrations.js";
import { entityParts } from "./export-entities.js";
import { copyFacts, ledgerParts } from "./export-ledger.js";
import { seriesWindows } from "./export-series.js";
import { lockFolder } from "./folder-lock.js";
import { entitiesSchema, ledgerFileSchema, metricsSchema } from "./index.js";
import { matchLedger } from "./ledger-mark.js";
import { ledgerMigrations } from "./ledger-migrations.js";
import type { Migration } from "./schema.js";
import { seriesMigrations, sqliteSeriesStore } from "./series-store.js";

/** An embedded folder that no service can use until it is closed. */
export interface LockedFolder {
  /** Throws a `StartError` when it has no profiles. */
  profiles(): ProfileSource;
  /** Throws a `StartError` when it has no series. */
  series(): SeriesSource;
  close(): void;
}

/** Keeps the folder for this process alone. Makes nothing: it must be there, with the files of a service. */
export function lockSource(dir: string): LockedFolder {
  const folder = resolve(dir);
  if (!["ledger.db", "entities.db", "metrics.db"].some((name) => existsSync(join(folder, name)))) {
    throw new StartError(
      `${folder} is not the data folder of a service: it holds no ledger.db, entities.db or metrics.db`,
    );
  }
  const unlock = lockFolder(folder);
  const open = new Set<Database>();

  const opened = (name: string, schema: readonly string[], migrations: readonly Migration[] = []): Database => {
    if (!existsSync(join(folder, name))) throw new StartError(`${folder} holds no ${name}`);
    const db = openDatabase(folder, name, schema, migrations);
    open.add(db);
    return db;
  };
  const closed = (...databases: Database[]) => {
    for (const db of databases) if (open.delete(db)) closeDatabase(db);
  };

  return {
    profiles() {
      const ledger = opened("ledger.db", ledgerFileSchema, ledgerMigrations(folder));
      const entities = opened("entities.db", entitiesSchema, entitiesMigrations(folder));
      matchLedger(ledger, entities, folder);
      const { mark } = ledger.prepare("SELECT mark FROM ledger_mark").get() as { mark: string };
      const pepper = ledger.prepare("SELECT fingerprint FROM pepper").get() as { fingerprint: string } | undefined;
      return {
        mark,
        pepper: pepper?.fingerprint,
        facts: copyFacts(ledger, entities),
        parts: { ...ledgerParts(ledger), ...entityParts(entities, ledger) },
        close: async () => closed(ledger, entities),
      };
    },

    series() {
      const db = opened("metrics.db", metricsSchema, seriesMigrations(folder));
      return {
        mark: seriesMark(db),
        series: sqliteSeriesStore(db),
        windows: () => seriesWindows(db),
        close: async () => closed(db),
      };
    },

    close() {
      closed(...open);
      unlock();
    },
  };
}

/** A random text that names `metrics.db`, made when it is first asked for. */
function seriesMark(db: Database): string {
  db.exec("CREATE TABLE IF NOT EXISTS series_mark (one INTEGER PRIMARY KEY CHECK (one = 1), mark TEXT NOT NULL)");
  db.prepare("INSERT OR IGNORE INTO series_mark VALUES (1, ?)").run(randomBytes(16).toString("hex"));
  return (db.prepare("SELECT mark FROM series_mark").get() as { mark: string }).mark;
}
