import type { EntityKeys } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import { type Database, inTransaction, sharingCommits, withoutWaiting } from "../connection.js";

/**
 * Rows of one size, appended and overwritten in place, so that SQLite never moves a cell and no page of the file keeps
 * a stale copy of a key. The index holds ids only. A key of zeros was destroyed.
 */
export const entityKeysSchema = `
  CREATE TABLE IF NOT EXISTS entity_key (id INTEGER PRIMARY KEY, entity TEXT NOT NULL, key BLOB NOT NULL);
  CREATE UNIQUE INDEX IF NOT EXISTS entity_key_entity ON entity_key (entity);
  PRAGMA secure_delete = ON;`;

/** Stores keys of new ids, inside the caller's transaction. */
export function addKeys(db: Database): (keys: ReadonlyMap<EntityId, Uint8Array>) => void {
  const insert = db.prepare("INSERT INTO entity_key (entity, key) VALUES (?, ?)");
  return (keys) => {
    for (const [id, key] of keys) insert.run(id, key);
  };
}

/** Result of a checkpoint: https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */
interface Checkpoint {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** Removes overwritten pages from the journal. Throws while another process still reads it. */
export function emptyJournal(db: Database): void {
  const checkpoint = () => db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  const { busy, log, checkpointed } = withoutWaiting(db, checkpoint) as Checkpoint;
  if (busy !== 0 || log !== checkpointed) throw new Error("The journal of the ledger could not be emptied yet");
}

/** Keys of entities in `ledger.db`. */
export function sqliteEntityKeys(db: Database, failpoint: Failpoint = noFailpoint): EntityKeys {
  const read = db.prepare(`SELECT entity, key FROM entity_key
    WHERE entity IN (SELECT value FROM json_each(?)) AND key <> zeroblob(32)`);
  const overwritten = db.prepare(`SELECT entity FROM entity_key
    WHERE entity IN (SELECT value FROM json_each(?)) AND key = zeroblob(32)`);
  const listed = db.prepare(`SELECT entity, key = zeroblob(32) AS is_destroyed FROM entity_key
    WHERE entity > ? ORDER BY entity LIMIT ?`);
  const overwrite = db.prepare("UPDATE entity_key SET key = zeroblob(32) WHERE entity = ?");

  const keysOf = (ids: readonly string[]) => read.all(JSON.stringify(ids)) as { entity: string; key: Uint8Array }[];

  return {
    async read(ids) {
      return new Map(keysOf(ids).map((row) => [row.entity, row.key]));
    },

    destroy: sharingCommits((ids: readonly EntityId[]) => {
      inTransaction(db, () => {
        for (const id of ids) overwrite.run(id);
      });
      failpoint("keys-overwritten");
      emptyJournal(db);
      if (keysOf(ids).length > 0) throw new Error("A key was not overwritten");
    }),

    async destroyed(ids) {
      const rows = overwritten.all(JSON.stringify(ids)) as { entity: string }[];
      return new Set(rows.map(({ entity }) => entity));
    },

    async list(after, limit) {
      const rows = listed.all(after, limit) as { entity: string; is_destroyed: number }[];
      return rows.map(({ entity, is_destroyed }) => ({ id: entity, isDestroyed: is_destroyed === 1 }));
    },
  };
}
