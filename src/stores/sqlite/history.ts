import { setImmediate } from "node:timers/promises";
import type { History, HistoryMessage } from "../../entities/history.js";
import { type Database, inTransaction } from "./database.js";

/** `pending`: 0 settled, 1 pending, 2 pending and set aside. The identities of a message that is not settled lie in `pending_identity`. */
export const historySchema = `
  CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, "table" TEXT NOT NULL, stream TEXT NOT NULL, entity TEXT NOT NULL, time REAL NOT NULL,
    arrival REAL NOT NULL, position INTEGER NOT NULL, sealed BLOB NOT NULL, pending INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS message_entity ON message (entity);
  CREATE INDEX IF NOT EXISTS message_arrival ON message (arrival, position);
  CREATE INDEX IF NOT EXISTS message_pending ON message (arrival, position) WHERE pending = 1;
  CREATE INDEX IF NOT EXISTS message_aside ON message (arrival) WHERE pending = 2;
  CREATE TABLE IF NOT EXISTS pending_identity (
    message TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (message, hash)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS pending_identity_hash ON pending_identity (hash);`;

/** Rows that one step of `expire` removes: others get a turn in between. */
const AT_ONCE = 1_000;

type MessageRow = Omit<HistoryMessage, "hashes">;

/** The archive in `entities.db`, beside the entities and the stream counts. `slotMs` is the slot of a stream. */
export function sqliteHistory(db: Database, slotMs: number): History {
  const isDead = db.prepare("SELECT 1 FROM entity WHERE id = ? AND state = 'dead'");
  const put = db.prepare(`INSERT INTO message (id, "table", stream, entity, time, arrival, position, sealed, pending)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET "table" = excluded."table", stream = excluded.stream,
    entity = excluded.entity, time = excluded.time, arrival = excluded.arrival, position = excluded.position,
    sealed = excluded.sealed, pending = 1 WHERE pending > 0 RETURNING 1 AS kept`);
  const name = db.prepare("INSERT OR IGNORE INTO pending_identity (message, hash) VALUES (?, ?)");
  const unname = db.prepare("DELETE FROM pending_identity WHERE message = ?");
  const findKept = db.prepare("SELECT id, entity, pending FROM message WHERE id IN (SELECT value FROM json_each(?))");
  const columns = `id, "table", stream, entity, time, arrival, position, sealed`;
  const oldest = db.prepare(
    `SELECT ${columns} FROM message WHERE pending = 1 AND arrival < ? ORDER BY arrival, position, id LIMIT ?`,
  );
  const concerning = db.prepare(`SELECT ${columns} FROM message WHERE pending > 0 AND (
      id IN (SELECT message FROM pending_identity WHERE hash IN (SELECT value FROM json_each(?)))
      OR entity IN (SELECT value FROM json_each(?))) ORDER BY arrival, position, id`);
  const hashesOf = db.prepare("SELECT hash FROM pending_identity WHERE message = ?");
  const putAside = db.prepare("UPDATE message SET pending = 2 WHERE id = ? AND pending = 1");
  const aside = db.prepare("SELECT count(*) AS messages FROM message WHERE pending = 2");
  const finish = db.prepare("UPDATE message SET pending = 0 WHERE id = ? AND pending > 0 RETURNING stream, time");
  const count = db.prepare(`INSERT INTO stream_count (stream, slot, count, saved) VALUES (?, ?, ?, NULL)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`);
  const remove = db.prepare("DELETE FROM message WHERE id = ? AND pending > 0 RETURNING 1");
  const unnameAll = db.prepare(`DELETE FROM pending_identity
    WHERE message IN (SELECT id FROM message WHERE entity = ? AND pending > 0)`);
  const removeAll = db.prepare("DELETE FROM message WHERE entity = ?");
  const kept = db.prepare("SELECT 1 FROM message WHERE entity IN (SELECT value FROM json_each(?)) LIMIT 1");
  const asideBefore = db.prepare("SELECT id FROM message WHERE pending = 2 AND arrival < ?");
  const forget = db.prepare(`DELETE FROM message WHERE rowid IN (
    SELECT rowid FROM message WHERE arrival < ? AND pending = 0 ORDER BY arrival LIMIT ${AT_ONCE})`);

  const withHashes = (rows: unknown[]): HistoryMessage[] =>
    (rows as MessageRow[]).map((row) => ({
      ...row,
      sealed: new Uint8Array(row.sealed),
      hashes: (hashesOf.all(row.id) as { hash: string }[]).map(({ hash }) => hash),
    }));

  function drop(ids: readonly string[]): void {
    inTransaction(db, () => {
      for (const id of ids) if (remove.get(id) !== undefined) unname.run(id);
    });
  }

  return {
    async append(messages) {
      inTransaction(db, () => {
        for (const { id, table, stream, entity, hashes, time, arrival, position, sealed } of messages) {
          if (isDead.get(entity) !== undefined) continue;
          if (put.get(id, table, stream, entity, time, arrival, position, sealed) === undefined) continue;
          unname.run(id);
          for (const hash of hashes) name.run(id, hash);
        }
      });
    },

    async find(ids) {
      const rows = findKept.all(JSON.stringify(ids)) as { id: string; entity: string; pending: number }[];
      return new Map(rows.map(({ id, entity, pending }) => [id, { entity, settled: pending === 0 }]));
    },

    pending: async (before, limit) => withHashes(oldest.all(before, limit)),

    pendingFor: async (hashes, entities) =>
      withHashes(concerning.all(JSON.stringify(hashes), JSON.stringify(entities))),

    async settle(ids) {
      inTransaction(db, () => {
        const counts = new Map<string, Map<number, number>>();
        for (const id of ids) {
          const settled = finish.get(id) as { stream: string; time: number } | undefined;
          if (settled === undefined) continue;
          unname.run(id);
          const slots = counts.get(settled.stream) ?? new Map<number, number>();
          const slot = Math.floor(settled.time / slotMs) * slotMs;
          counts.set(settled.stream, slots.set(slot, (slots.get(slot) ?? 0) + 1));
        }
        for (const [stream, slots] of counts) for (const [slot, more] of slots) count.run(stream, slot, more);
      });
    },

    async setAside(ids) {
      inTransaction(db, () => {
        for (const id of ids) putAside.run(id);
      });
    },

    countAside: async () => (aside.get() as { messages: number }).messages,

    async drop(ids) {
      drop(ids);
    },

    async erase(entities) {
      inTransaction(db, () => {
        for (const entity of entities) {
          unnameAll.run(entity);
          removeAll.run(entity);
        }
      });
    },

    holds: async (entities) => kept.get(JSON.stringify(entities)) !== undefined,

    async expire(before) {
      drop((asideBefore.all(before) as { id: string }[]).map(({ id }) => id));
      while (Number(forget.run(before).changes) === AT_ONCE) await setImmediate();
    },
  };
}
