import { join } from "node:path";
import { StartError } from "../../errors.js";
import { type Failpoint, noFailpoint } from "../../failpoint.js";
import type { Log } from "../../log.js";
import { FIRST_LAYOUT, newestLayout, refuseOtherLayout, refuseUnknownLayout } from "../layouts.js";
import {
  BUSY_MS,
  type Database,
  DatabaseSync,
  damagedFile,
  inTransaction,
  isDamage,
  layoutOf,
  reasonOf,
  setLayout,
  sqliteServiceError,
} from "./connection.js";

/** A file of the embedded engine. Each file has the number of its own layout in its `user_version`. */
export interface FileLayout {
  readonly name: string;
  /** Repeatable DDL of the newest layout. */
  readonly schema: readonly string[];
  /** Upgrades from the layout of version 1.0.0, each to the next layout. */
  readonly steps?: readonly UpgradeStep[];
}

/**
 * Changes a file to the next layout, in one transaction, without foreign keys: a table that is replaced takes no rows
 * of others with it. It has its own DDL, because `schema` changes with later layouts.
 */
export type UpgradeStep = (db: Database) => void;

export interface OpenOptions {
  /** Whether a service may be using the file: its tables are not changed, and an older layout is refused. */
  readonly isShared?: boolean;
  readonly log?: Pick<Log, "info">;
  readonly failpoint?: Failpoint | undefined;
  /** Called before a file of an older layout is changed; throws to refuse it. */
  readonly beforeUpgrade?: (db: Database) => void;
}

/** Page cache, KiB. With SQLite's default of 2 MiB, a write of 500 new profiles reads each page of an index again. */
const CACHE_KIB = 16_384;

/** Maximum size of the write-ahead log file after it restarts. A backup during many writes makes the file as large. */
const WAL_BYTES = 32 * 1024 * 1024;

/**
 * Opens a file in WAL mode, in which a returned commit survives a power cut, upgrades its layout, and creates its
 * missing tables. Throws a `StartError` if the file has an unknown layout or cannot be used.
 */
export function openDatabase(dir: string, layout: FileLayout, options: OpenOptions = {}): Database {
  const path = join(dir, layout.name);
  let db: Database | undefined;
  try {
    const opened = new DatabaseSync(path);
    db = opened;
    opened.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA foreign_keys = OFF`);
    const newest = newestLayout(layout.steps);
    const found = layoutOf(opened);
    // A new file has the number 0.
    if (options.isShared && found === 0) throw new StartError(`${path} is empty: start the service once`);
    if (options.isShared) refuseOtherLayout(path, found, newest);
    else refuseUnknownLayout(path, found || newest, newest);
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_BYTES}`);
    if (!options.isShared) {
      if (found === newest) refuseMissingTables(opened, path, layout);
      else if (found > 0) options.beforeUpgrade?.(opened);
      upgrade(opened, layout, options);
      tolerateFullDisk(opened, newest, () => createTables(opened, layout));
    }
    opened.exec("PRAGMA foreign_keys = ON");
    return opened;
  } catch (error) {
    db?.close();
    if (error instanceof StartError) throw error;
    throw isDamage(error)
      ? damagedFile(path, error)
      : new StartError(`${path} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Upgrades a file step by step; the last step also creates missing tables. A killed process has stored whole steps, so
 * the next start continues.
 */
function upgrade(
  db: Database,
  { name, schema, steps = [] }: FileLayout,
  { log, failpoint = noFailpoint }: OpenOptions,
): void {
  for (let from = layoutOf(db); from !== 0 && from < newestLayout(steps); from += 1) {
    inTransaction(db, () => {
      steps[from - FIRST_LAYOUT]?.(db);
      if (from + 1 === newestLayout(steps)) for (const sql of schema) db.exec(sql);
      setLayout(db, from + 1);
      failpoint("layout-step-done");
    });
    log?.info({ file: name, layout: from + 1 }, `upgraded the layout of ${name}`);
    failpoint("layout-step-stored");
  }
}

/**
 * Refuses a file of the newest layout that lacks a table or index of it, or in which two of them have the same pages.
 * It is damaged, and `createTables` would create an empty table.
 */
function refuseMissingTables(db: Database, path: string, { schema }: FileLayout): void {
  const expected = new DatabaseSync(":memory:");
  for (const sql of schema) expected.exec(sql);
  const missing = new Set(tablesOf(expected).map(({ definition }) => definition));
  expected.close();
  const found = tablesOf(db);
  for (const { definition } of found) missing.delete(definition);
  const pages = new Set(found.map(({ page }) => page));
  if (missing.size > 0 || pages.size < found.length) throw damagedFile(path);
}

/** Returns the tables and indexes of a file; an upgrade step may cause other blanks and quotes in their SQL. */
function tablesOf(db: Database): { readonly definition: string; readonly page: number }[] {
  const rows = db
    .prepare("SELECT name || tbl_name || ifnull(sql, '') AS sql, rootpage AS page FROM sqlite_schema")
    .all();
  return (rows as { sql: string; page: number }[]).map(({ sql, page }) => ({
    definition: sql.replaceAll(/[\s"]+/g, ""),
    page,
  }));
}

/** Opens a file of the newest layout on a full disk for reads; writes are refused until there is space. */
function tolerateFullDisk(db: Database, newest: number, create: () => void): void {
  try {
    create();
  } catch (error) {
    if (sqliteServiceError(error)?.kind !== "out-of-space" || layoutOf(db) !== newest) throw error;
  }
}

/** Creates the missing tables of a file of the newest layout, or of a new one. */
function createTables(db: Database, { schema, steps }: FileLayout): void {
  inTransaction(db, () => {
    for (const sql of schema) db.exec(sql);
    setLayout(db, newestLayout(steps));
  });
}
