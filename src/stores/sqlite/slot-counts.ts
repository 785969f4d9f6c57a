import type { SlotCount, SlotCounts } from "../../metrics/slot-counts.js";
import { type Database, inTransaction } from "./database.js";

/** What the history counted for each stream and slot, and what of it was last saved; never saved: NULL. */
export const slotCountSchema = `
  CREATE TABLE IF NOT EXISTS stream_count (
    stream TEXT NOT NULL, slot INTEGER NOT NULL, count INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (stream, slot)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS stream_count_unsaved ON stream_count (slot, stream) WHERE saved IS NOT count;`;

/** Stream counts in `entities.db`; `sqliteEntityStore` adds to them in the transaction that keeps the messages. */
export function sqliteSlotCounts(db: Database): SlotCounts {
  const unsaved =
    db.prepare(`SELECT stream, slot, count, saved AS token FROM stream_count WHERE saved IS NOT count AND slot < ?
    ORDER BY slot, stream LIMIT ?`);
  // NULL where another recorder has saved the slot since: then it is saved once more.
  const note = db.prepare(
    "UPDATE stream_count SET saved = CASE WHEN saved IS ? THEN ? END WHERE stream = ? AND slot = ?",
  );

  return {
    unsaved: async (before, limit) => unsaved.all(before, limit) as unknown as SlotCount[],

    async saved(counts) {
      inTransaction(db, () => {
        for (const { stream, slot, count, token } of counts) note.run(token as number | null, count, stream, slot);
      });
    },
  };
}
