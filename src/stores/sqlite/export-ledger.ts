import type { CopyFacts, CopyRecords, DeletionRecord, EntityKeyRecord, PartSource } from "../copy.js";
import type { Database } from "./database.js";
import { exportTable } from "./export-table.js";
import { keyOf } from "./key-store.js";
import { type DeletionRow, deletionOf } from "./ledger.js";

export type LedgerPart = "deletions" | "entity keys" | "API keys";

/** Parts of `ledger.db`. */
export function ledgerParts(db: Database): { readonly [P in LedgerPart]: PartSource<CopyRecords[P]> } {
  const cutOffs = db.prepare("SELECT hash, cut_off FROM erased_identity WHERE sequence = ? ORDER BY hash");
  const isDestroyed = (key: Uint8Array) => key.every((byte) => byte === 0);

  return {
    deletions: exportTable<DeletionRow, DeletionRecord>(db, {
      from: "deletion",
      keys: ["request_id"],
      records: (rows) =>
        rows.map((row) => ({
          id: row.request_id,
          sequence: row.sequence,
          deletion: deletionOf(row),
          cutOffs: (cutOffs.all(row.sequence) as { hash: string; cut_off: number }[]).map(
            ({ hash, cut_off: cutOff }) => ({ hash, cutOff }),
          ),
        })),
    }),
    "entity keys": exportTable<{ entity: string; key: Uint8Array }, EntityKeyRecord>(db, {
      from: "entity_key",
      keys: ["entity"],
      records: (rows) =>
        rows.map(({ entity, key }) => ({ id: entity, key: isDestroyed(key) ? undefined : new Uint8Array(key) })),
    }),
    "API keys": exportTable(db, { from: "api_key", keys: ["id"], records: (rows) => rows.map(keyOf) }),
  };
}

/** Numbers of `ledger.db` and `entities.db`. */
export function copyFacts(ledger: Database, entities: Database): CopyFacts {
  const sequence = ledger.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'deletion'").get();
  const watermark = entities.prepare("SELECT sequence FROM erasure_watermark").get();
  return {
    sequence: (sequence as { seq: number } | undefined)?.seq ?? 0,
    watermark: (watermark as { sequence: number } | undefined)?.sequence ?? 0,
  };
}
