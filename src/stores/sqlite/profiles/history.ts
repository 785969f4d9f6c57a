import { yieldWhenDue } from "../../../async/yielding.js";
import type { History, HistoryMessage } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import { type Database, sharingCommits } from "../connection.js";

/** `lasting_message_id`: ids of messages that are never stored again. Neither `erase` nor `expire` removes them. */
export const historySchema = `
  CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, "table" TEXT NOT NULL, stream TEXT NOT NULL, entity TEXT NOT NULL, time REAL NOT NULL,
    arrival REAL NOT NULL, position INTEGER NOT NULL, sealed BLOB NOT NULL
  );
  CREATE INDEX IF NOT EXISTS message_entity_arrival ON message (entity, arrival, position);
  CREATE INDEX IF NOT EXISTS message_arrival ON message (arrival, position);
  CREATE TABLE IF NOT EXISTS lasting_message_id (id TEXT PRIMARY KEY) WITHOUT ROWID;`;

/** Query of the ids in a JSON array (its parameter) whose messages are stored, or are never stored again. */
export const storedMessages = `SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?1))
  UNION ALL SELECT id FROM lasting_message_id WHERE id IN (SELECT value FROM json_each(?1))`;

/** Rows removed by one step of `erase` or one `expire`; other requests run between steps. */
const MESSAGES_PER_STEP = 1_000;

/** The archive in `entities.db`; `sqliteEntityStore` adds to it. */
export function sqliteHistory(db: Database): History {
  const findStored = db.prepare(storedMessages);
  const remove = db.prepare(`DELETE FROM message WHERE rowid IN (
    SELECT rowid FROM message WHERE entity IN (SELECT value FROM json_each(?)) LIMIT ${MESSAGES_PER_STEP})`);
  const stored = db.prepare("SELECT 1 FROM message WHERE entity IN (SELECT value FROM json_each(?)) LIMIT 1");
  const forget = db.prepare(`DELETE FROM message WHERE rowid IN (
    SELECT rowid FROM message WHERE arrival < ? ORDER BY arrival LIMIT ${MESSAGES_PER_STEP})`);

  const countByStream = db.prepare(
    "SELECT stream, count(*) AS count FROM message WHERE entity IN (SELECT value FROM json_each(?)) GROUP BY stream ORDER BY stream",
  );
  // The first messages of each entity are found in the index: the others are not read.
  const page = db.prepare(`SELECT message.* FROM json_each(?1) AS owner JOIN message ON message.rowid IN (
      SELECT rowid FROM message WHERE entity = owner.value AND (arrival, position, id) > (?2, ?3, ?4)
        ORDER BY arrival, position, id LIMIT ?5)
    ORDER BY arrival, position, id LIMIT ?5`);
  const at = db.prepare(`SELECT stream, time, arrival, position FROM message
    WHERE entity IN (SELECT value FROM json_each(?))
      AND (arrival, position) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`);

  const eraseSome = sharingCommits((entities: readonly EntityId[]) =>
    Number(remove.run(JSON.stringify(entities)).changes),
  );

  return {
    async countByStream(entities) {
      const rows = countByStream.all(JSON.stringify(entities)) as { stream: string; count: number }[];
      return new Map(rows.map(({ stream, count }) => [stream, count]));
    },

    async page(entities, after, limit) {
      const { arrival = -1, position = -1, id = "" } = after ?? {};
      return page.all(JSON.stringify(entities), arrival, position, id, limit) as unknown as HistoryMessage[];
    },

    async at(entities, places) {
      const found: Awaited<ReturnType<History["at"]>> = [];
      for (let first = 0; first < places.length; first += MESSAGES_PER_STEP) {
        if (first > 0) await yieldWhenDue();
        const requested = places
          .slice(first, first + MESSAGES_PER_STEP)
          .map(({ arrival, position }) => [arrival, position]);
        found.push(...(at.all(JSON.stringify(entities), JSON.stringify(requested)) as unknown as typeof found));
      }
      return found;
    },

    storedIds: async (ids) => new Set((findStored.all(JSON.stringify(ids)) as { id: string }[]).map(({ id }) => id)),

    async erase(entities) {
      while ((await eraseSome(entities)) === MESSAGES_PER_STEP);
    },

    holds: async (entities) => stored.get(JSON.stringify(entities)) !== undefined,

    expire: async (before) => Number(forget.run(before).changes) === MESSAGES_PER_STEP,
  };
}
