import { StartError } from "../../errors.js";
import type { Database } from "./engine.js";

/** Brings a file from one schema version to the next: SQL, or work that SQL alone cannot do. Runs inside a transaction. */
export type Migration = string | ((db: Database) => void);

/**
 * Brings an open file up to the newest schema, inside the caller's transaction. Its version is kept in
 * `PRAGMA user_version`: `migrations[0]` leads from 1 to 2, and so on, so the newest version is one more than their
 * number. A new file gets `schema` at once; a newer file than ours is refused.
 */
export function bringUp(db: Database, path: string, schema: readonly string[], migrations: readonly Migration[]): void {
  const newest = migrations.length + 1;
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version > newest) {
    throw new StartError(
      `${path} was written by a newer version of entity-metrics (schema ${version}, this version knows up to ${newest}): start that version instead`,
    );
  }
  if (version > 0) {
    for (const migration of migrations.slice(version - 1))
      typeof migration === "string" ? db.exec(migration) : migration(db);
  }
  for (const sql of schema) db.exec(sql);
  // Also when it is that already: a file that cannot be written to is found out here.
  db.exec(`PRAGMA user_version = ${newest}`);
}
