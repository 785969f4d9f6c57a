import type { Experience } from "../../catalogue/ports.js";
import type { HistoryMessage } from "../../entities/history.js";
import { stream } from "../../metrics/dimensions/stream.js";
import {
  type CopyRecords,
  compositeId,
  type EntityRecord,
  entityRecord,
  type IdentityRecord,
  type Part,
  type PartSource,
  type SegmentRecord,
  type StreamCountRecord,
  type StreamRecord,
} from "../copy.js";
import type { Database } from "./database.js";
import { sqliteEntityStore } from "./entity-store.js";
import type { LedgerPart } from "./export-ledger.js";
import { exportTable } from "./export-table.js";

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
  const { load } = sqliteEntityStore(db, ledger, stream.slotMs);
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
