import { STUCK_ATTEMPTS } from "../../../deletions/deletion.js";
import type { Ledger } from "../../../deletions/ports.js";
import type { Database } from "../connection.js";
import { type DeletionRow, deletionOf, deletionRows } from "./deletion-row.js";

/** Lists the requests of `ledger.db`. The lists of completed ones have no index, as nearly all are completed. */
export function deletionList(db: Database): Pick<Ledger, "list" | "count" | "countCompleted"> {
  const states = {
    open: statementsFor(db, "completed_at IS NULL"),
    stuck: statementsFor(db, `completed_at IS NULL AND attempts >= ${STUCK_ATTEMPTS}`),
    completed: statementsFor(db, "completed_at IS NOT NULL"),
    all: statementsFor(db, "true"),
  };
  const completed = db.prepare("SELECT count(*) AS count FROM deletion WHERE completed_at >= ? AND completed_at < ?");
  return {
    async list({ state, target, newestFirst, after = null, limit }) {
      const { any, ofTarget } = states[state][newestFirst ? "newestFirst" : "oldestFirst"];
      const rows = target === undefined ? any.all({ after, limit }) : ofTarget.all({ after, limit, target });
      return (rows as unknown as DeletionRow[]).map(deletionOf);
    },

    async count(state, target) {
      const { any, ofTarget } = states[state].count;
      return ((target === undefined ? any.get() : ofTarget.get({ target })) as { count: number }).count;
    },

    countCompleted: async (from, to) => (completed.get(from, to) as { count: number }).count,
  };
}

/**
 * Statements for a state, each also for one target. Lists begin after the request `after`, or with the first request if
 * it is null.
 */
function statementsFor(db: Database, state: string) {
  const sequence = "(SELECT sequence FROM deletion WHERE request_id = :after)";
  const prepared = (sql: (where: string) => string) => ({
    any: db.prepare(sql(state)),
    ofTarget: db.prepare(sql(`${state} AND next_target = :target`)),
  });
  return {
    newestFirst: prepared(
      (where) => `SELECT * FROM ${deletionRows} WHERE ${where}
        AND sequence < iif(:after IS NULL, 9e15, coalesce(${sequence}, 0)) ORDER BY sequence DESC LIMIT :limit`,
    ),
    oldestFirst: prepared(
      (where) => `SELECT * FROM ${deletionRows} WHERE ${where}
        AND sequence > iif(:after IS NULL, 0, coalesce(${sequence}, 9e15)) ORDER BY sequence LIMIT :limit`,
    ),
    count: prepared((where) => `SELECT count(*) AS count FROM deletion WHERE ${where}`),
  };
}
