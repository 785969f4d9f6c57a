import { join } from "node:path";
import { StartError } from "../../errors.js";
import { type Database, DatabaseSync } from "./engine.js";
import { bringUp, type Migration } from "./schema.js";

export type { Database };

/**
 * A file of the embedded engine: WAL, and a commit that returned survives a power cut. `schema` is repeatable DDL, the
 * newest; `migrations` bring an older file up to it (see `schema`). Throws a `StartError` when the file cannot be used.
 */
export function openDatabase(
  dir: string,
  name: string,
  schema: readonly string[],
  migrations: readonly Migration[] = [],
): Database {
  return openFile(dir, name, (db, path) => inTransaction(db, () => bringUp(db, path, schema, migrations)));
}

/** The same without a schema: a file of any version, as it is, after `prepare`. */
export function openFile(
  dir: string,
  name: string,
  prepare: (db: Database, path: string) => void = () => {},
): Database {
  const path = join(dir, name);
  let db: Database | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec(
      "PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
    );
    prepare(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw error instanceof StartError
      ? error
      : new StartError(`${path} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

/** Runs `work` in one transaction that takes the write lock at its start: all of it is kept, or nothing. */
export function inTransaction<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction !== false) db.exec("ROLLBACK");
    throw error;
  }
}

/** Closes the file with an empty journal, so that the folder can be copied as it lies. */
export function closeDatabase(db: Database): void {
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

/** What SQLite says of a file, in the words of the person who has to mend it. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/not a database|malformed|disk image/i.test(text))
    return "it is not a database, or it is damaged (put a backup in its place)";
  if (/unable to open|readonly|read-only|permission/i.test(text)) return "the folder or the file cannot be written to";
  if (/disk is full|database or disk/i.test(text)) return "the disk is full";
  if (/locked|busy/i.test(text)) return "another process keeps it locked";
  return text.split("\n", 1)[0] ?? text;
}
