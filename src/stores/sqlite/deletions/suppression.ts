import type { CutOff, Suppression } from "../../../entities/ports.js";
import type { EntityId } from "../../../entities/profile/entity.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { ledgerPosition } from "../../ledger-position.js";
import type { Database } from "../connection.js";

/**
 * Tables of `ledger.db` that are written in a request's transaction. `erased_identity` has the newest cut-off and the
 * newest number of an identity's requests, so that reading it costs the same after any number of them.
 */
export const suppressionSchema = `
  CREATE TABLE IF NOT EXISTS erased_entity (
    entity TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (entity, sequence)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS erased_identity (
    hash TEXT PRIMARY KEY, cut_off REAL NOT NULL, sequence INTEGER NOT NULL
  ) WITHOUT ROWID;`;

/** Synchronous queries on the suppression tables. */
export function suppressionIn(db: Database) {
  const cutOffs = db.prepare(
    "SELECT hash, cut_off, sequence FROM erased_identity WHERE hash IN (SELECT value FROM json_each(?))",
  );
  const erased = db.prepare(
    "SELECT DISTINCT entity FROM erased_entity WHERE entity IN (SELECT value FROM json_each(?))",
  );

  return {
    cutOffs(hashes: readonly IdentityHash[]): Map<IdentityHash, CutOff> {
      const rows = cutOffs.all(JSON.stringify(hashes)) as { hash: string; cut_off: number; sequence: number }[];
      return new Map(
        rows.map(({ hash, cut_off: time, sequence }) => [hash, { time, position: ledgerPosition(sequence) }]),
      );
    },

    erased(ids: readonly EntityId[]): Set<EntityId> {
      return new Set((erased.all(JSON.stringify(ids)) as { entity: string }[]).map((row) => row.entity));
    },
  };
}

/** Suppression in `ledger.db`. */
export function sqliteSuppression(db: Database): Suppression {
  const { cutOffs, erased } = suppressionIn(db);
  return { cutOffs: async (hashes) => cutOffs(hashes), erased: async (ids) => erased(ids) };
}
