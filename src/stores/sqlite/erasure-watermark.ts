import type { ErasureWatermark } from "../../deletions/erasure-watermark.js";
import type { Database } from "./database.js";

/** One row, kept with the data it speaks of. */
export const erasureWatermarkSchema =
  "CREATE TABLE IF NOT EXISTS erasure_watermark (id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL);";

/** How much of the ledger `entities.db` has seen. */
export function sqliteErasureWatermark(db: Database): ErasureWatermark {
  const read = db.prepare("SELECT sequence FROM erasure_watermark");
  const write = db.prepare(`INSERT INTO erasure_watermark (id, sequence) VALUES (1, ?)
    ON CONFLICT DO UPDATE SET sequence = max(sequence, excluded.sequence)`);

  return {
    read: async () => (read.get() as { sequence: number } | undefined)?.sequence ?? 0,

    async write(sequence) {
      write.run(sequence);
    },
  };
}
