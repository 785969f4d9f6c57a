import { STUCK_ATTEMPTS } from "../../../deletions/deletion.js";
import type { Ledger, ListedState } from "../../../deletions/ports.js";
import type { Database } from "../connection.js";
import { type DeletionRow, deletionOf, deletionRows } from "./deletion-row.js";

const inState: Readonly<Record<ListedState, string>> = {
  open: "completed_at IS NULL",
  stuck: `completed_at IS NULL AND attempts >= ${STUCK_ATTEMPTS}`,
  completed: "completed_at IS NOT NULL",
  all: "true",
};

/** Returns the condition for requests in a state and, if a target is given, whose next run calls it. */
function listed(state: ListedState, target: string | undefined): string {
  return target === undefined ? inState[state] : `${inState[state]} AND next_target = :target`;
}

/** Lists the requests of `ledger.db`. Lists of completed requests use no index: nearly all requests are completed. */
export function deletionList(db: Database): Pick<Ledger, "list" | "count"> {
  const sequenceOf = db.prepare("SELECT sequence FROM deletion WHERE request_id = ?");
  const named = (target: string | undefined) => (target === undefined ? {} : { target });

  return {
    async list({ state, target, newestFirst, after, limit }) {
      const last = after === undefined ? undefined : (sequenceOf.get(after) as { sequence: number } | undefined);
      if (after !== undefined && last === undefined) return [];
      const [isLater, order, first] = newestFirst ? ["<", "DESC", Number.MAX_SAFE_INTEGER] : [">", "ASC", 0];
      const rows = db
        .prepare(`SELECT * FROM ${deletionRows} WHERE ${listed(state, target)} AND sequence ${isLater} :last
          ORDER BY sequence ${order} LIMIT :limit`)
        .all({ last: last?.sequence ?? first, limit, ...named(target) });
      return (rows as unknown as DeletionRow[]).map(deletionOf);
    },

    async count(state, target) {
      const counted = db.prepare(`SELECT count(*) AS count FROM deletion WHERE ${listed(state, target)}`);
      return (counted.get(named(target)) as { count: number }).count;
    },
  };
}
