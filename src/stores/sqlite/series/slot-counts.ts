import type { CountedStream, SlotCount, SlotCounts } from "../../../metrics/ports.js";
import { type Database, inTransaction } from "../connection.js";

/**
 * Messages counted for each stream and slot, people who joined or left a segment (see `added-counts`), and the count
 * that was last saved; NULL: never saved.
 */
export const slotCountSchema = `
  CREATE TABLE IF NOT EXISTS stream_count (
    stream TEXT NOT NULL, slot INTEGER NOT NULL, count INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (stream, slot)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS stream_count_unsaved ON stream_count (slot, stream) WHERE saved IS NOT count;
  CREATE TABLE IF NOT EXISTS stream (name TEXT PRIMARY KEY, last_arrival REAL NOT NULL) WITHOUT ROWID;`;

/** Adds to the count of a name and slot. */
export const addSlotCount = `INSERT INTO stream_count (stream, slot, count, saved) VALUES (?, ?, ?, NULL)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;

/** Slot counts in `entities.db`; `sqliteEntityStore` and `membershipRemoval` add to them in their transactions. */
export function sqliteSlotCounts(db: Database): SlotCounts {
  const unsaved =
    db.prepare(`SELECT stream, slot, count, saved AS token FROM stream_count WHERE saved IS NOT count AND slot < ?
    ORDER BY slot, stream LIMIT ?`);
  // NULL if another recorder has saved the slot since: then it is saved again.
  const note = db.prepare(
    "UPDATE stream_count SET saved = CASE WHEN saved IS ? THEN ? END WHERE stream = ? AND slot = ?",
  );
  const streams = db.prepare(
    "SELECT name AS stream, last_arrival AS lastArrival FROM stream WHERE name > ? ORDER BY name LIMIT ?",
  );
  const counted = db.prepare(
    "SELECT stream, count FROM stream_count WHERE stream IN (SELECT value FROM json_each(?)) AND slot = ?",
  );

  return {
    unsaved: async (before, limit) => unsaved.all(before, limit) as unknown as SlotCount[],

    async saved(counts) {
      inTransaction(db, () => {
        for (const { stream, slot, count, token } of counts) note.run(token as number | null, count, stream, slot);
      });
    },

    streams: async (after, limit) => streams.all(after ?? "", limit) as unknown as CountedStream[],

    async counted(names, slot) {
      const rows = counted.all(JSON.stringify(names), slot) as { stream: string; count: number }[];
      return new Map(rows.map(({ stream, count }) => [stream, count]));
    },
  };
}
