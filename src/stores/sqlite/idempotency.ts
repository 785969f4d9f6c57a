import type { Idempotency, IdempotentRequest } from "../../entities/ports.js";
import { type Database, inTransaction } from "./connection.js";

export const idempotencySchema = `
  CREATE TABLE IF NOT EXISTS idempotent_request (
    id TEXT PRIMARY KEY, arrival REAL NOT NULL, digest TEXT NOT NULL, tally TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS idempotent_request_arrival ON idempotent_request (arrival);`;

const REMEMBERED_MS = 24 * 3_600_000;

/** Repeatable requests, in `entities.db`; those for deletions in `ledger.db`. */
export function sqliteIdempotency(db: Database): Idempotency {
  const find = db.prepare("SELECT id, arrival, digest, tally FROM idempotent_request WHERE id = ?");
  const start = db.prepare(
    "INSERT OR REPLACE INTO idempotent_request (id, arrival, digest, tally) VALUES (?, ?, ?, ?)",
  );
  const end = db.prepare(
    "UPDATE idempotent_request SET digest = ?, tally = ? WHERE id = ? AND arrival = ? AND tally = ''",
  );
  const forget = db.prepare("DELETE FROM idempotent_request WHERE arrival <= ?");

  const stored = (id: string) => find.get(id) as unknown as IdempotentRequest | undefined;

  return {
    begin: async (request) =>
      inTransaction(db, () => {
        const { id, arrival, digest, tally } = request;
        const before = stored(id);
        if (before !== undefined && before.arrival > arrival - REMEMBERED_MS) return { ...before };
        start.run(id, arrival, digest, tally);
        return request;
      }),

    async finish({ id, arrival, digest, tally }) {
      end.run(digest, tally, id, arrival);
      const request = stored(id);
      return request?.arrival === arrival ? { ...request } : undefined;
    },

    async forget(now) {
      forget.run(now - REMEMBERED_MS);
    },
  };
}
