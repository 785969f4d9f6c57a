import type { ErasureWatermark } from "../../deletions/ports.js";
import type { Database } from "./database.js";

/** One row each, kept with the data they speak of. */
export const erasureWatermarkSchema = `
  CREATE TABLE IF NOT EXISTS erasure_watermark (id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS ledger_seen (
    one INTEGER PRIMARY KEY CHECK (one = 1), accepted INTEGER NOT NULL, forgotten INTEGER NOT NULL
  );`;

/** How much of the ledger `entities.db` has seen. */
export function sqliteErasureWatermark(db: Database): ErasureWatermark {
  const write = db.prepare(`INSERT INTO erasure_watermark (id, sequence) VALUES (1, ?)
    ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)`);
  const note = noteSeen(db);

  return {
    read: async () => seenBy(db).erased,

    async write(sequence) {
      write.run(sequence);
    },

    async noteForgotten(sequence) {
      note(0, sequence);
    },
  };
}

/** Notes the number of a request that was accepted, and of one that may be forgotten. Neither goes down. */
export function noteSeen(db: Database): (accepted: number, forgotten: number) => void {
  const note = db.prepare(`INSERT INTO ledger_seen (one, accepted, forgotten) VALUES (1, ?, ?)
    ON CONFLICT DO UPDATE SET accepted = max(accepted, excluded.accepted), forgotten = max(forgotten, excluded.forgotten)`);
  return (accepted, forgotten) => {
    note.run(accepted, forgotten);
  };
}

/** Numbers of requests: up to which all are erased in the data, the newest accepted, the newest that may be forgotten. */
export function seenBy(db: Database): {
  readonly erased: number;
  readonly accepted: number;
  readonly forgotten: number;
} {
  const watermark = db.prepare("SELECT sequence FROM erasure_watermark").get() as { sequence: number } | undefined;
  const seen = db.prepare("SELECT accepted, forgotten FROM ledger_seen").get() as
    | { accepted: number; forgotten: number }
    | undefined;
  return { erased: watermark?.sequence ?? 0, accepted: seen?.accepted ?? 0, forgotten: seen?.forgotten ?? 0 };
}
