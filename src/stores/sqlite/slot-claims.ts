import type { Series, SlotColumn } from "../../metrics/series.js";
import type { SeriesSlot, SlotClaims } from "../../metrics/slot-claims.js";
import { type Database, inTransaction } from "./database.js";

/**
 * `state`: 0 claimed and confirmed, 1 settled (in the series store), 2 given away, 3 claimed and not confirmed, 4 given away
 * and not settled (a recorder may have written over what is kept).
 */
export const claimsSchema = `
  CREATE TABLE IF NOT EXISTS slot_claim (
    dimension TEXT NOT NULL, dimension_id TEXT NOT NULL, type TEXT NOT NULL, slot INTEGER NOT NULL,
    value REAL NOT NULL, state INTEGER NOT NULL, PRIMARY KEY (dimension, dimension_id, type, slot)
  ) WITHOUT ROWID;
  DROP INDEX IF EXISTS slot_claim_unsettled;
  CREATE INDEX IF NOT EXISTS slot_claim_open ON slot_claim (slot) WHERE state IN (0, 3, 4);
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
  readonly state: number;
}

type KeptRow = Pick<ClaimRow, "slot" | "value" | "state">;

/** Claims and leases in `entities.db`, beside the counts and memberships that they are made from. */
export function sqliteSlotClaims(db: Database): SlotClaims {
  const SLOT = "dimension = ? AND dimension_id = ? AND type = ? AND slot = ?";
  const lease = db.prepare(
    `INSERT INTO lease VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET owner = excluded.owner, since = excluded.since, until = excluded.until
     WHERE owner = excluded.owner OR until <= excluded.since OR since > excluded.since`,
  );
  const find = db.prepare(`SELECT slot, value, state FROM slot_claim WHERE ${SLOT}`);
  const claimFirst = db.prepare("INSERT INTO slot_claim VALUES (?, ?, ?, ?, ?, 3) ON CONFLICT DO NOTHING");
  const claimLargest = db.prepare(
    `INSERT INTO slot_claim VALUES (?, ?, ?, ?, ?, 3) ON CONFLICT DO UPDATE
     SET value = excluded.value, state = CASE state WHEN 3 THEN 3 ELSE 0 END
     WHERE state IN (0, 1, 3) AND excluded.value > value`,
  );
  const confirm = db.prepare(`UPDATE slot_claim SET state = 0 WHERE ${SLOT} AND state = 3`);
  const withdraw = db.prepare(`DELETE FROM slot_claim WHERE ${SLOT} AND state = 3`);
  const setState = db.prepare(`UPDATE slot_claim SET state = ? WHERE ${SLOT}`);
  const unsettled = db.prepare(
    `SELECT dimension, dimension_id, type, slot, value, state FROM slot_claim INDEXED BY slot_claim_open
     WHERE state IN (0, 3, 4) AND dimension IN (SELECT value FROM json_each(?)) ORDER BY slot LIMIT ?`,
  );
  const WINDOW = "dimension = ? AND dimension_id = ? AND type = ? AND slot >= ? AND slot < ?";
  const anyIn = db.prepare(`SELECT 1 FROM slot_claim WHERE ${WINDOW} LIMIT 1`);
  const within = db.prepare(`SELECT slot, value, state FROM slot_claim WHERE ${WINDOW}`);
  const giveAway = db.prepare(
    `UPDATE slot_claim SET value = ?, state = CASE WHEN state IN (1, 2) THEN 2 ELSE 4 END WHERE ${SLOT}`,
  );
  const forget = db.prepare("DELETE FROM slot_claim WHERE dimension = ? AND slot < ? AND state IN (1, 2)");

  const kept = ({ series, slot }: SeriesSlot) => find.get(...keyOf(series), slot) as KeptRow | undefined;
  return {
    async lease(name, owner, now, until) {
      return lease.run(name, owner, now, until).changes > 0;
    },

    async claim(samples, options) {
      const insert = options?.grows === true ? claimLargest : claimFirst;
      return inTransaction(db, () => {
        for (const { series, slot, value } of samples) insert.run(...keyOf(series), slot, value);
        return samples.flatMap(({ series, slot }) => {
          const row = kept({ series, slot });
          if (row?.state !== 0 && row?.state !== 3) return [];
          return [{ series, slot, value: row.value, confirmed: row.state === 0 }];
        });
      });
    },

    async claimed(slots) {
      return slots.flatMap(({ series, slot }) => {
        const row = kept({ series, slot });
        return row === undefined || isGiven(row) ? [] : [{ series, slot, value: row.value }];
      });
    },

    async confirm(slots) {
      return inTransaction(db, () =>
        slots.flatMap(({ series, slot }) => {
          confirm.run(...keyOf(series), slot);
          const row = kept({ series, slot });
          return row?.state === 0 ? [{ series, slot, value: row.value }] : [];
        }),
      );
    },

    async withdraw(slots) {
      inTransaction(db, () => {
        for (const { series, slot } of slots) withdraw.run(...keyOf(series), slot);
      });
    },

    async settle(samples) {
      return inTransaction(db, () =>
        samples.flatMap(({ series, slot, value }) => {
          const row = kept({ series, slot });
          if (row === undefined || row.state === 3) return [];
          const isWritten = row.value === value;
          setState.run(isWritten ? (isGiven(row) ? 2 : 1) : isGiven(row) ? 4 : 0, ...keyOf(series), slot);
          return isWritten ? [] : [{ series, slot, value: row.value }];
        }),
      );
    },

    async unsettled(dimensions, limit) {
      const byName = new Map(dimensions.map((dimension) => [dimension.name, dimension] as const));
      const rows = unsettled.all(JSON.stringify([...byName.keys()]), limit) as unknown as ClaimRow[];
      return rows.flatMap(({ dimension: name, dimension_id: id, type, slot, value, state }) => {
        const dimension = byName.get(name);
        return dimension === undefined
          ? []
          : [{ series: { dimension, id, type }, slot, value, confirmed: state !== 3 }];
      });
    },

    async giveAway(columns) {
      const ours = columns.filter((column) => anyIn.get(...windowOf(column)) !== undefined);
      if (ours.length === 0) return [];
      const given: SeriesSlot[] = [];
      inTransaction(db, () => {
        for (const column of ours) {
          const { series, from, values } = column;
          for (const row of within.all(...windowOf(column)) as unknown as KeptRow[]) {
            const value = values[(row.slot - from) / series.dimension.slotMs];
            if (value === undefined || Number.isNaN(value)) continue;
            if (!isGiven(row)) given.push({ series, slot: row.slot });
            giveAway.run(value, ...keyOf(series), row.slot);
          }
        }
      });
      return given;
    },

    async forget(dimensions, before) {
      inTransaction(db, () => {
        for (const { name } of dimensions) forget.run(name, before);
      });
    },
  };
}

function isGiven({ state }: KeptRow): boolean {
  return state === 2 || state === 4;
}

function windowOf({ series, from, values }: SlotColumn): [string, string, string, number, number] {
  return [...keyOf(series), from, from + values.length * series.dimension.slotMs];
}

function keyOf({ dimension, id, type }: Series): [string, string, string] {
  return [dimension.name, id, type];
}
