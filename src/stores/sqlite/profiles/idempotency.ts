import { type Idempotency, type IdempotentRequest, REMEMBERED_MS } from "../../../entities/ports.js";
import { ledgerPosition } from "../../ledger-position.js";
import type { Database } from "../connection.js";
import { NEWEST_DELETION } from "../deletions/ledger-match.js";

/** `began` is the number of the newest deletion at the first arrival; 0: none. */
export const idempotencySchema = `
  CREATE TABLE IF NOT EXISTS idempotent_request (
    id TEXT PRIMARY KEY, arrival REAL NOT NULL, digest TEXT NOT NULL, tally TEXT NOT NULL,
    began INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS idempotent_request_arrival ON idempotent_request (arrival);`;

/** Requests removed by one `forget`. */
const REQUESTS_PER_STEP = 1_000;

export type RequestRow = Omit<IdempotentRequest, "began"> & { readonly began: number };

/**
 * Stores repeatable requests in `entities.db`, and those for deletions in `ledger.db`, with the position of the ledger
 * at their first arrival.
 */
export function sqliteIdempotency(db: Database, ledger: Database): Idempotency {
  const find = db.prepare("SELECT id, arrival, digest, tally, began FROM idempotent_request WHERE id = ?");
  const start = db.prepare(`INSERT INTO idempotent_request (id, arrival, digest, tally, began) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET arrival = excluded.arrival, digest = excluded.digest, tally = excluded.tally,
      began = excluded.began WHERE arrival <= excluded.arrival - ${REMEMBERED_MS}`);
  const newestDeletion = ledger.prepare(`SELECT ${NEWEST_DELETION} AS began`);
  const end = db.prepare(
    "UPDATE idempotent_request SET digest = ?, tally = ? WHERE id = ? AND arrival = ? AND tally = ''",
  );
  const forget = db.prepare(`DELETE FROM idempotent_request WHERE id IN (
    SELECT id FROM idempotent_request WHERE arrival <= ? LIMIT ${REQUESTS_PER_STEP})`);

  const stored = (id: string): IdempotentRequest | undefined => {
    const row = find.get(id) as unknown as RequestRow | undefined;
    return row === undefined ? undefined : requestOf(row);
  };

  return {
    async begin({ id, arrival, digest, tally }) {
      const { began } = newestDeletion.get() as { began: number };
      const { changes } = start.run(id, arrival, digest, tally, began);
      return { stored: stored(id) as IdempotentRequest, isFirst: changes > 0 };
    },

    async finish({ id, arrival, digest, tally }) {
      end.run(digest, tally, id, arrival);
      const request = stored(id);
      return request?.arrival === arrival ? request : undefined;
    },

    forget: async (now) => Number(forget.run(now - REMEMBERED_MS).changes) === REQUESTS_PER_STEP,
  };
}

export function requestOf({ began, ...request }: RequestRow): IdempotentRequest {
  return { ...request, began: ledgerPosition(began) };
}
