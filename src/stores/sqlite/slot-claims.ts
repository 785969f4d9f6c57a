import type { Series } from "../../metrics/series.js";
import type { SlotClaims, SlotSample } from "../../metrics/slot-claims.js";
import { type Database, inTransaction } from "./database.js";

/** `state`: 0 claimed, 1 settled (in the series store), 2 given away. */
export const claimsSchema = `
  CREATE TABLE IF NOT EXISTS slot_claim (
    dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL, slot INTEGER NOT NULL,
    value REAL NOT NULL, state INTEGER NOT NULL, PRIMARY KEY (dimension, dimension_id, type, slot)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS slot_claim_unsettled ON slot_claim (slot) WHERE state = 0;
  CREATE INDEX IF NOT EXISTS slot_claim_age ON slot_claim (dimension, slot);
  CREATE TABLE IF NOT EXISTS lease (
    name TEXT PRIMARY KEY, owner TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL
  ) WITHOUT ROWID;`;

interface ClaimRow {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly type: string;
  readonly slot: number;
  readonly value: number;
}

/** Claims and leases in `entities.db`, beside the counts and memberships that they are made from. */
export function sqliteSlotClaims(db: Database): SlotClaims {
  const SLOT = "dimension = ? AND dimension_id = ? AND type = ? AND slot = ?";
  const lease = db.prepare(
    `INSERT INTO lease VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET owner = excluded.owner, since = excluded.since, until = excluded.until
     WHERE owner = excluded.owner OR until <= excluded.since OR since > excluded.since`,
  );
  const find = db.prepare(`SELECT value FROM slot_claim WHERE ${SLOT} AND state <> 2`);
  const claimFirst = db.prepare("INSERT INTO slot_claim VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT DO NOTHING");
  const claimLargest = db.prepare(
    `INSERT INTO slot_claim VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT DO UPDATE
     SET value = excluded.value, state = 0 WHERE state <> 2 AND excluded.value > value`,
  );
  const settle = db.prepare(`UPDATE slot_claim SET state = (value = ?) WHERE ${SLOT} AND state <> 2`);
  const unsettled = db.prepare(
    `SELECT dimension, dimension_id, type, slot, value FROM slot_claim INDEXED BY slot_claim_unsettled
     WHERE state = 0 AND dimension IN (SELECT value FROM json_each(?)) ORDER BY slot LIMIT ?`,
  );
  const WINDOW = "dimension = ? AND dimension_id = ? AND type = ? AND slot >= ? AND slot < ? AND state <> 2";
  const anyIn = db.prepare(`SELECT 1 FROM slot_claim WHERE ${WINDOW} LIMIT 1`);
  const giveAway = db.prepare(`UPDATE slot_claim SET state = 2 WHERE ${WINDOW}`);
  const forget = db.prepare("DELETE FROM slot_claim WHERE dimension = ? AND slot < ? AND state <> 0");

  const kept = ({ series, slot }: { series: Series; slot: number }): SlotSample[] => {
    const row = find.get(series.dimension.name, series.id, series.type, slot) as { value: number } | undefined;
    return row === undefined ? [] : [{ series, slot, value: row.value }];
  };

  return {
    async lease(name, owner, now, until) {
      return lease.run(name, owner, now, until).changes > 0;
    },

    async claimed(slots) {
      return slots.flatMap(kept);
    },

    async claim(samples, options) {
      const insert = options?.grows === true ? claimLargest : claimFirst;
      return inTransaction(db, () => {
        for (const { series, slot, value } of samples) {
          insert.run(series.dimension.name, series.id, series.type, slot, value);
        }
        return samples.flatMap(kept);
      });
    },

    async settle(samples) {
      inTransaction(db, () => {
        for (const { series, slot, value } of samples) {
          settle.run(value, series.dimension.name, series.id, series.type, slot);
        }
      });
    },

    async unsettled(dimensions, limit) {
      const byName = new Map(dimensions.map((dimension) => [dimension.name, dimension] as const));
      const rows = unsettled.all(JSON.stringify([...byName.keys()]), limit) as unknown as ClaimRow[];
      return rows.flatMap(({ dimension: name, dimension_id: id, type, slot, value }) => {
        const dimension = byName.get(name);
        return dimension === undefined ? [] : [{ series: { dimension, id, type }, slot, value }];
      });
    },

    async giveAway(windows) {
      const ours = windows.filter(
        ({ series, from, to }) => anyIn.get(series.dimension.name, series.id, series.type, from, to) !== undefined,
      );
      if (ours.length === 0) return;
      inTransaction(db, () => {
        for (const { series, from, to } of ours) giveAway.run(series.dimension.name, series.id, series.type, from, to);
      });
    },

    async forget(dimensions, before) {
      inTransaction(db, () => {
        for (const { name } of dimensions) forget.run(name, before);
      });
    },
  };
}
