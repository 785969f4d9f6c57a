import type { Experience } from "../../catalogue/experience.js";
import type { Stamp } from "../../entities/entity.js";
import type { EntityState } from "../../entities/entity-store.js";
import {
  type ClaimState,
  type CopyRecords,
  compositeId,
  type EntityRecord,
  type IdentityRecord,
  type MembershipRecord,
  type MessageRecord,
  type Part,
  type PartSource,
  type SegmentRecord,
  type SlotClaimRecord,
  type StreamCountRecord,
} from "../copy.js";
import type { Database } from "./database.js";
import { sqliteEntityStore } from "./entity-store.js";
import type { LedgerPart } from "./export-ledger.js";
import { exportTable } from "./export-table.js";

type EntityPart = Exclude<Part, LedgerPart>;

/** Parts of `entities.db`. */
export function entityParts(db: Database): { readonly [P in EntityPart]: PartSource<CopyRecords[P]> } {
  return {
    entities: entities(db),
    identities: exportTable<{ id: string; entity: string }, IdentityRecord>(db, {
      from: "(SELECT hash AS id, entity FROM identity)",
      keys: ["id"],
      records: (rows) => rows.map((row) => ({ ...row })),
    }),
    memberships: memberships(db),
    history: history(db),
    "stream counts": streamCounts(db),
    "slot claims": slotClaims(db),
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

function entities(db: Database): PartSource<EntityRecord> {
  const { load } = sqliteEntityStore(db);
  return exportTable<{ id: string }, EntityRecord>(db, {
    from: "(SELECT id FROM entity)",
    keys: ["id"],
    records: async (rows) => [...(await load(rows.map(({ id }) => id)))].map(([id, state]) => entityRecord(id, state)),
  });
}

function entityRecord(id: string, state: EntityState): EntityRecord {
  return state.state === "live" ? { state: "live", ...state.entity } : { id, ...state };
}

function memberships(db: Database): PartSource<MembershipRecord> {
  const floorOf = db.prepare("SELECT time, arrival, position FROM membership_floor WHERE entity = ?");
  const statementsOf = db.prepare("SELECT segment, member, time, arrival, position FROM membership WHERE entity = ?");
  return exportTable<{ entity: string }, MembershipRecord>(db, {
    from: "(SELECT entity FROM membership UNION SELECT entity FROM membership_floor)",
    keys: ["entity"],
    records: (rows) =>
      rows.map(({ entity }) => {
        const floor = floorOf.get(entity) as Stamp | undefined;
        const statements = statementsOf.all(entity) as unknown as ({ segment: string; member: number } & Stamp)[];
        return {
          id: entity,
          floor: floor && { ...floor },
          statements: statements
            .map((row) => ({ ...row, member: row.member === 1 }))
            .sort((a, b) => (a.segment < b.segment ? -1 : 1)),
        };
      }),
  });
}

function history(db: Database): PartSource<MessageRecord> {
  const hashesOf = db.prepare("SELECT hash FROM pending_identity WHERE message = ? ORDER BY hash");
  return exportTable<Omit<MessageRecord, "hashes" | "pending"> & { pending: number }, MessageRecord>(db, {
    from: "message",
    keys: ["id"],
    records: (rows) =>
      rows.map((row) => ({
        ...row,
        sealed: new Uint8Array(row.sealed),
        pending: row.pending > 0,
        hashes: row.pending > 0 ? (hashesOf.all(row.id) as { hash: string }[]).map(({ hash }) => hash) : [],
      })),
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

/** By `slot_claim.state`. */
const claimStates: readonly ClaimState[] = [
  "claimed",
  "settled",
  "given away",
  "not confirmed",
  "given away, not settled",
];

interface ClaimRow {
  readonly dimension: string;
  readonly dimension_id: string;
  readonly type: string;
  readonly slot: number;
  readonly value: number;
  readonly state: number;
}

function slotClaims(db: Database): PartSource<SlotClaimRecord> {
  return exportTable<ClaimRow, SlotClaimRecord>(db, {
    from: "slot_claim",
    keys: ["dimension", "dimension_id", "type", "slot"],
    records: (rows) =>
      rows.map(({ dimension, dimension_id: dimensionId, type, slot, value, state }) => ({
        id: compositeId(dimension, dimensionId, type, slot),
        dimension,
        dimensionId,
        type,
        slot,
        value,
        state: claimStates[state] as ClaimState,
      })),
  });
}
