import { STUCK_ATTEMPTS } from "../../../deletions/deletion.js";
import type { Ledger, ListedState, OpenReason } from "../../../deletions/ports.js";
import type { Database } from "../connection.js";
import { type DeletionRow, deletionOf, deletionRows } from "./deletion-row.js";

const inState: Readonly<Record<ListedState, string>> = {
  open: "completed_at IS NULL",
  stuck: `completed_at IS NULL AND attempts >= ${STUCK_ATTEMPTS}`,
  completed: "completed_at IS NOT NULL",
  all: "true",
};

interface Filter {
  readonly target: string | undefined;
  readonly problem: string | undefined;
}

/** Returns the condition for requests in a state; if given, whose next run calls the target, and with the problem. */
function listed(state: ListedState, { target, problem }: Filter): string {
  const named = [target !== undefined && "next_target = :target", problem !== undefined && "problem = :problem"];
  return [inState[state], ...named.filter((one) => one !== false)].join(" AND ");
}

type StoredReason = { readonly [K in keyof OpenReason]: K extends "problem" | "target" ? string | null : number };

/** Lists the requests of `ledger.db`. Lists of completed requests use no index: nearly all requests are completed. */
export function deletionList(db: Database): Pick<Ledger, "list" | "count" | "openReasons"> {
  const sequenceOf = db.prepare("SELECT sequence FROM deletion WHERE request_id = ?");
  const openReasons = db.prepare(`SELECT problem, next_target AS target, count(*) AS requests,
    sum(attempts >= ${STUCK_ATTEMPTS}) AS stuck, min(document ->> '$.acceptedAt') AS oldestAt
    FROM deletion WHERE completed_at IS NULL GROUP BY problem, next_target
    ORDER BY stuck DESC, requests DESC, problem, target LIMIT ?`);
  const named = ({ target, problem }: Filter) => ({
    ...(target === undefined ? {} : { target }),
    ...(problem === undefined ? {} : { problem }),
  });

  return {
    async list({ state, target, problem, newestFirst, after, limit }) {
      const last = after === undefined ? undefined : (sequenceOf.get(after) as { sequence: number } | undefined);
      if (after !== undefined && last === undefined) return [];
      const [isLater, order, first] = newestFirst ? ["<", "DESC", Number.MAX_SAFE_INTEGER] : [">", "ASC", 0];
      const rows = db
        .prepare(`SELECT * FROM ${deletionRows} WHERE ${listed(state, { target, problem })} AND sequence ${isLater} :last
          ORDER BY sequence ${order} LIMIT :limit`)
        .all({ last: last?.sequence ?? first, limit, ...named({ target, problem }) });
      return (rows as unknown as DeletionRow[]).map(deletionOf);
    },

    async count(state, target, problem) {
      const filter = { target, problem };
      const counted = db.prepare(`SELECT count(*) AS count FROM deletion WHERE ${listed(state, filter)}`);
      return (counted.get(named(filter)) as { count: number }).count;
    },

    async openReasons(limit) {
      return (openReasons.all(limit) as unknown as StoredReason[]).map(({ problem, target, ...counts }) => ({
        problem: problem ?? undefined,
        target: target ?? undefined,
        ...counts,
      }));
    },
  };
}
