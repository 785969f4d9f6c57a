import type { Idempotency, IdempotentRequest } from "../../entities/ports.js";
import { ServiceError } from "../../errors.js";
import { type Database, inTransaction } from "./connection.js";

/** `owner` has the request until `until` (Unix ms). */
export const idempotencySchema = `
  CREATE TABLE IF NOT EXISTS idempotent_request (
    id TEXT PRIMARY KEY, arrival REAL NOT NULL, done INTEGER NOT NULL, digest TEXT NOT NULL, finished INTEGER NOT NULL,
    tally TEXT NOT NULL, owner TEXT, until REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS idempotent_request_arrival ON idempotent_request (arrival);`;

const REMEMBERED_MS = 24 * 3_600_000;

interface RequestRow extends Omit<IdempotentRequest, "finished"> {
  readonly finished: number;
  readonly owner: string | null;
  readonly until: number;
}

/** Progress of repeatable requests, in `entities.db`. */
export function sqliteIdempotency(db: Database): Idempotency {
  const forget = db.prepare("DELETE FROM idempotent_request WHERE arrival <= ? AND (owner IS NULL OR until <= ?)");
  const find = db.prepare("SELECT * FROM idempotent_request WHERE id = ?");
  const start = db.prepare("INSERT OR REPLACE INTO idempotent_request VALUES (?, ?, 0, '', 0, '', ?, ?)");
  const take = db.prepare("UPDATE idempotent_request SET owner = ?, until = ? WHERE id = ?");
  const note = db.prepare(`UPDATE idempotent_request SET done = ?, digest = ?, finished = ?, tally = ?, until = ?
    WHERE id = ? AND owner = ? RETURNING 1`);
  const letGo = db.prepare("UPDATE idempotent_request SET owner = NULL WHERE id = ? AND owner = ?");

  return {
    begin: async (id, owner, now, until) =>
      inTransaction(db, () => {
        const row = find.get(id) as unknown as RequestRow | undefined;
        const isFree = row === undefined || row.owner === null || row.until <= now || row.until > until;
        if (row === undefined || (isFree && row.arrival <= now - REMEMBERED_MS)) {
          start.run(id, now, owner, until);
          return { id, arrival: now, done: 0, digest: "", finished: false, tally: "" };
        }
        if (!isFree && row.owner !== owner) return undefined;
        take.run(owner, until, id);
        const { arrival, done, digest, tally } = row;
        return { id, arrival, done, digest, finished: row.finished === 1, tally };
      }),

    async advance({ id, done, digest, finished, tally }, owner, until) {
      if (note.get(done, digest, Number(finished), tally, until, id, owner) === undefined) {
        throw new ServiceError("conflict", "Another request with this Idempotency-Key is under way");
      }
    },

    async release(id, owner) {
      letGo.run(id, owner);
    },

    async forget(now) {
      forget.run(now - REMEMBERED_MS, now);
    },
  };
}
