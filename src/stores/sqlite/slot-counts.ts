import type { CountedStream, SlotCount, SlotCounts } from "../../metrics/ports.js";
import { type Database, inTransaction } from "./database.js";

/** What the history counted for each stream and slot, and what of it was last saved; never saved: NULL. */
export const slotCountSchema = `
  CREATE TABLE IF NOT EXISTS stream_count (
    stream TEXT NOT NULL, slot INTEGER NOT NULL, count INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (stream, slot)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS stream_count_unsaved ON stream_count (slot, stream) WHERE saved IS NOT count;
  CREATE TABLE IF NOT EXISTS stream (name TEXT PRIMARY KEY, last_arrival REAL NOT NULL) WITHOUT ROWID;`;

/** Fills `stream` in a file that counted streams before it had this table. */
export const fillStreams = `${slotCountSchema}
  INSERT OR IGNORE INTO stream SELECT stream, max(arrival) FROM message GROUP BY stream;
  INSERT OR IGNORE INTO stream SELECT stream, max(slot) FROM stream_count GROUP BY stream;`;

/** Stream counts in `entities.db`; `sqliteEntityStore` adds to them in the transaction that keeps the messages. */
export function sqliteSlotCounts(db: Database): SlotCounts {
  const unsaved =
    db.prepare(`SELECT stream, slot, count, saved AS token FROM stream_count WHERE saved IS NOT count AND slot < ?
    ORDER BY slot, stream LIMIT ?`);
  // NULL where another recorder has saved the slot since: then it is saved once more.
  const note = db.prepare(
    "UPDATE stream_count SET saved = CASE WHEN saved IS ? THEN ? END WHERE stream = ? AND slot = ?",
  );
  const streams = db.prepare(
    "SELECT name AS stream, last_arrival AS lastArrival FROM stream WHERE name > ? ORDER BY name LIMIT ?",
  );
  const counted = db.prepare(`SELECT stream, slot, count FROM stream_count
    WHERE stream IN (SELECT value FROM json_each(?)) AND slot >= ? AND slot < ?`);

  return {
    unsaved: async (before, limit) => unsaved.all(before, limit) as unknown as SlotCount[],

    async saved(counts) {
      inTransaction(db, () => {
        for (const { stream, slot, count, token } of counts) note.run(token as number | null, count, stream, slot);
      });
    },

    streams: async (after, limit) => streams.all(after ?? "", limit) as unknown as CountedStream[],

    counted: async (names, from, to) => counted.all(JSON.stringify(names), from, to) as unknown as SlotCount[],
  };
}
