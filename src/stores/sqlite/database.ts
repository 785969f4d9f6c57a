import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";

export type Database = InstanceType<typeof DatabaseSync>;

/** A file of the embedded engine: WAL, and a commit that returned survives a power cut. `schema` is repeatable DDL. */
export function openDatabase(dir: string, name: string, schema: readonly string[]): Database {
  const db = new DatabaseSync(join(dir, name));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000; PRAGMA foreign_keys = ON;");
  for (const sql of schema) db.exec(sql);
  return db;
}

/** Runs `work` in one transaction that takes the write lock at its start: all of it is kept, or nothing. */
export function inTransaction<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
