import { NOTIFICATION, STUCK_ATTEMPTS } from "../../deletions/deletion.js";
import type { Ledger } from "../../deletions/ports.js";
import type { Database } from "./connection.js";
import { type DeletionRow, deletionOf, deletionRows } from "./deletion-row.js";

/** Lists the requests of `ledger.db`. Completed requests have no index, as nearly all are completed. */
export function deletionList(db: Database): Pick<Ledger, "list" | "count"> {
  const states = {
    open: statementsFor(db, "completed_at IS NULL"),
    stuck: statementsFor(db, `completed_at IS NULL AND attempts >= ${STUCK_ATTEMPTS}`),
    completed: statementsFor(db, "completed_at IS NOT NULL"),
    notifying: statementsFor(db, `next_target = '${NOTIFICATION}'`),
    all: statementsFor(db, "true"),
  };
  return {
    async list({ state, newestFirst, after, limit }) {
      const statement = states[state][newestFirst ? "newestFirst" : "oldestFirst"];
      return (statement.all({ after: after ?? null, limit }) as unknown as DeletionRow[]).map(deletionOf);
    },

    async count(state) {
      return (states[state].count.get() as { count: number }).count;
    },
  };
}

/** Lists begin after the request `after`, or with the first request if it is null. */
function statementsFor(db: Database, state: string) {
  const sequence = "(SELECT sequence FROM deletion WHERE request_id = :after)";
  return {
    newestFirst: db.prepare(`SELECT * FROM ${deletionRows} WHERE ${state}
      AND sequence < iif(:after IS NULL, 9e15, coalesce(${sequence}, 0)) ORDER BY sequence DESC LIMIT :limit`),
    oldestFirst: db.prepare(`SELECT * FROM ${deletionRows} WHERE ${state}
      AND sequence > iif(:after IS NULL, 0, coalesce(${sequence}, 9e15)) ORDER BY sequence LIMIT :limit`),
    count: db.prepare(`SELECT count(*) AS count FROM deletion WHERE ${state}`),
  };
}
