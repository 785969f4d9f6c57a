import { StartError } from "../../errors.js";
import type { Database } from "./database.js";
import type { Migration } from "./schema.js";
import { fillStreams } from "./slot-counts.js";

/** What brings an older `entities.db` up to the newest schema, from version 1 on. `dir` is its folder, for words. */
export function entitiesMigrations(dir: string): readonly Migration[] {
  return [(db) => toOneCommit(db, dir), (db) => toPlanes(db, dir), fillStreams];
}

/**
 * From 1 to 2: a message and what it changes are kept by one transaction, so no message is pending any more, and ids of profiles that were merged or erased
 * are not remembered. Messages that the earlier version had kept and not applied yet have to be applied by it. Those that it could not apply and had set
 * aside are removed: no profile leads to them, so no deletion would.
 */
function toOneCommit(db: Database, dir: string): void {
  const pending = db.prepare("SELECT 1 FROM message WHERE pending = 1 LIMIT 1").get();
  if (pending !== undefined) {
    throw new StartError(
      `entities.db in ${dir} holds messages that the earlier version of entity-metrics has not applied yet: start and stop that version once more`,
    );
  }
  db.exec(`
    CREATE TABLE live_entity (
      id TEXT PRIMARY KEY, "table" TEXT NOT NULL, revision INTEGER NOT NULL, born REAL NOT NULL, joined TEXT NOT NULL, sealed BLOB NOT NULL
    );
    INSERT INTO live_entity SELECT id, "table", revision, born, joined, sealed FROM entity WHERE state = 'live';
    DROP TABLE entity;
    ALTER TABLE live_entity RENAME TO entity;
    DELETE FROM identity WHERE entity NOT IN (SELECT id FROM entity);
    DROP INDEX IF EXISTS message_pending;
    DROP INDEX IF EXISTS message_aside;
    DELETE FROM message WHERE pending = 2;
    DROP TABLE pending_identity;
    ALTER TABLE message DROP COLUMN pending;
    ALTER TABLE membership_floor RENAME TO membership_full;`);
}

/**
 * From 2 to 3: the recorder writes a plane of its own, so no slot is claimed any more. What it saved before lies in `metrics.db` among the values of clients:
 * see `seriesMigrations`.
 */
function toPlanes(db: Database, dir: string): void {
  if (db.prepare("SELECT 1 FROM slot_claim LIMIT 1").get() !== undefined) {
    throw new StartError(
      `entities.db in ${dir} was written by an earlier version of entity-metrics, which kept the recorder's values among those of clients: name an empty folder`,
    );
  }
  db.exec("DROP TABLE slot_claim");
}
