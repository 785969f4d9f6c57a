import type { Lease } from "../../metrics/ports.js";
import { type Database, inTransaction } from "./database.js";

export const leaseSchema = `
  CREATE TABLE IF NOT EXISTS lease (
    name TEXT PRIMARY KEY, owner TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL
  ) WITHOUT ROWID`;

/** Leases in `entities.db`. */
export function sqliteLease(db: Database): Lease {
  const find = db.prepare("SELECT owner FROM lease WHERE name = ?");
  const take = db.prepare(
    `INSERT INTO lease VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET owner = excluded.owner, since = excluded.since, until = excluded.until
     WHERE owner = excluded.owner OR until <= excluded.since OR since > excluded.since`,
  );
  return async (name, owner, now, until) =>
    inTransaction(db, () => {
      const last = find.get(name) as { owner: string } | undefined;
      if (take.run(name, owner, now, until).changes === 0) return "refused";
      return last?.owner === owner ? "renewed" : "taken";
    });
}
