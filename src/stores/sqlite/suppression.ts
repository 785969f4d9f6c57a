import type { Suppression } from "../../entities/suppression.js";
import type { Database } from "./database.js";

/** Who must not come back, from what the ledger (`ledger.db`) wrote with its requests. */
export function sqliteSuppression(db: Database): Suppression {
  const cutOffs = db.prepare(`SELECT hash, max(cut_off) AS cut_off FROM erased_identity
    WHERE hash IN (SELECT value FROM json_each(?)) GROUP BY hash`);
  const erased = db.prepare(
    "SELECT DISTINCT entity FROM erased_entity WHERE entity IN (SELECT value FROM json_each(?))",
  );

  return {
    async cutOffs(hashes) {
      const rows = cutOffs.all(JSON.stringify(hashes)) as { hash: string; cut_off: number }[];
      return new Map(rows.map((row) => [row.hash, row.cut_off]));
    },

    async erased(ids) {
      return new Set((erased.all(JSON.stringify(ids)) as { entity: string }[]).map((row) => row.entity));
    },
  };
}
