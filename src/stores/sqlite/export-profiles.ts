import type { Experience } from "../../catalogue/ports.js";
import type { HistoryMessage } from "../../entities/ports.js";
import {
  type CopyFacts,
  type CopyRecord,
  type CopyRecords,
  compositeId,
  type DeletionRecord,
  type EntityKeyRecord,
  type EntityRecord,
  entityRecord,
  type IdentityRecord,
  type Part,
  type PartSource,
  type SegmentRecord,
  type StreamCountRecord,
  type StreamRecord,
} from "../copy.js";
import type { Database } from "./connection.js";
import { type DeletionRow, deletionOf } from "./deletion-row.js";
import { sqliteEntityStore } from "./entity-store.js";
import { keyOf } from "./key-store.js";

type LedgerPart = "deletions" | "entity keys" | "API keys";
type EntityPart = Exclude<Part, LedgerPart>;

/** Parts of `entities.db`; what the ledger says is erased is left out. */
export function entityParts(
  db: Database,
  ledger: Database,
): { readonly [P in EntityPart]: PartSource<CopyRecords[P]> } {
  return {
    entities: entities(db, ledger),
    identities: exportTable<{ id: string; entity: string }, IdentityRecord>(db, {
      from: "(SELECT hash AS id, entity FROM identity)",
      keys: ["id"],
      records: (rows) => rows.map((row) => ({ ...row })),
    }),
    history: exportTable<HistoryMessage, HistoryMessage>(db, {
      from: "message",
      keys: ["id"],
      records: (rows) => rows.map((row) => ({ ...row, sealed: new Uint8Array(row.sealed) })),
    }),
    "stream counts": streamCounts(db),
    streams: exportTable<StreamRecord, StreamRecord>(db, {
      from: "(SELECT name AS id, last_arrival AS lastArrival FROM stream)",
      keys: ["id"],
      records: (rows) => rows.map((row) => ({ ...row })),
    }),
    segments: segments(db),
    experiences: exportTable<Omit<Experience, "group"> & { group: string | null }, Experience>(db, {
      from: "experience",
      keys: ["id"],
      records: (rows) =>
        rows.map(({ id, name, group, audience, goal }) => ({
          id,
          name,
          ...(group === null ? {} : { group }),
          audience,
          goal,
        })),
    }),
    "repeatable requests": exportTable(db, {
      from: "(SELECT id, arrival, done, digest, finished, tally FROM idempotent_request)",
      keys: ["id"],
      records: (rows: (Omit<CopyRecords["repeatable requests"], "finished"> & { finished: number })[]) =>
        rows.map((row) => ({ ...row, finished: row.finished === 1 })),
    }),
  };
}

function segments(db: Database): PartSource<SegmentRecord> {
  return exportTable<{ id: string; name: string | null; table: string | null; removed: number }, SegmentRecord>(db, {
    from: `(SELECT coalesce(kept.id, gone.id) AS id, name, "table", gone.id IS NOT NULL AS removed
      FROM segment AS kept FULL JOIN segment_removed AS gone ON gone.id = kept.id)`,
    keys: ["id"],
    records: (rows) =>
      rows.map(({ id, name, table, removed }) => ({
        id,
        segment: name === null || table === null ? undefined : { id, name, table },
        removed: removed === 1,
      })),
  });
}

function entities(db: Database, ledger: Database): PartSource<EntityRecord> {
  const { load } = sqliteEntityStore(db, ledger);
  return exportTable<{ id: string }, EntityRecord>(db, {
    from: "(SELECT id FROM entity)",
    keys: ["id"],
    records: async (rows) => [...(await load(rows.map(({ id }) => id))).values()].map(entityRecord),
  });
}

function streamCounts(db: Database): PartSource<StreamCountRecord> {
  return exportTable<Omit<StreamCountRecord, "unsaved" | "id"> & { saved: number | null }, StreamCountRecord>(db, {
    from: "stream_count",
    keys: ["stream", "slot"],
    records: (rows) =>
      rows.map(({ stream, slot, count, saved }) => ({
        id: compositeId(stream, slot),
        stream,
        slot,
        count,
        unsaved: saved !== count,
      })),
  });
}

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
  const key = ledger.prepare("SELECT wrapped FROM receipt_key").get() as { wrapped: string } | undefined;
  return {
    ...(key === undefined ? {} : { receiptKey: key.wrapped }),
    sequence: (sequence as { seq: number } | undefined)?.seq ?? 0,
    watermark: (watermark as { sequence: number } | undefined)?.sequence ?? 0,
  };
}

/** Records handed out at once. */
const BATCH = 500;

/** A table (or a query in its place) whose rows become records. */
interface ExportedTable<Row, R extends CopyRecord> {
  readonly from: string;
  /** Columns that tell rows apart; more than one make a composite id. */
  readonly keys: readonly string[];
  /** The records of some rows, in any order. */
  readonly records: (rows: Row[]) => R[] | Promise<R[]>;
}

/** Reads a table of a locked folder. */
function exportTable<Row, R extends CopyRecord>(db: Database, table: ExportedTable<Row, R>): PartSource<R> {
  const { from, keys, records } = table;
  const counted = db.prepare(`SELECT count(*) AS count FROM ${from}`);
  const everything = db.prepare(`SELECT * FROM ${from} ORDER BY ${keys.join(", ")}`);
  const wanted =
    keys.length === 1
      ? `${keys[0]} IN (SELECT value FROM json_each(?))`
      : `(${keys.join(", ")}) IN (SELECT ${keys.map((_, i) => `json_extract(value, '$[${i}]')`).join(", ")} FROM json_each(?))`;
  const some = db.prepare(`SELECT * FROM ${from} WHERE ${wanted}`);

  return {
    count: async () => (counted.get() as { count: number }).count,

    async *all() {
      let rows: Row[] = [];
      for (const row of everything.iterate()) {
        rows.push(row as Row);
        if (rows.length < BATCH) continue;
        yield await records(rows);
        rows = [];
      }
      if (rows.length > 0) yield await records(rows);
    },

    async find(ids) {
      const values = keys.length === 1 ? JSON.stringify(ids) : `[${ids.join(",")}]`;
      return records(some.all(values) as Row[]);
    },
  };
}
