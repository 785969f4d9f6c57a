import { weightedBatches } from "../../../async/weighted-batches.js";
import type { Experience, Mark, Segment } from "../../../catalogue/ports.js";
import { ERASED } from "../../../deletions/ports.js";
import type { OutboxRow } from "../../../entities/outbox.js";
import type { IdempotentRequest } from "../../../entities/ports.js";
import type { StoredEntity } from "../../../entities/profile/entity.js";
import { StartError } from "../../../errors.js";
import { ALERTS } from "../../../metrics/ports.js";
import type {
  CopyFacts,
  CopyRecord,
  CopyRecords,
  DeletionRecord,
  Part,
  PartSource,
  StreamCountRecord,
} from "../../copy.js";
import { RECEIPT_KEY } from "../../database-facts.js";
import { segmentOf } from "../catalogue/catalogue-store.js";
import { apiKeyOf } from "../catalogue/key-store.js";
import type { Database } from "../connection.js";
import { factsOf } from "../database-facts.js";
import { type DeletionRow, deletionOf, deletionRows } from "../deletions/deletion-row.js";
import { acceptedBy } from "../deletions/ledger-match.js";
import { recordOf } from "../document.js";
import { segmentDeletions } from "./deleted-segments.js";
import { sqliteEntityStore } from "./entity-store.js";
import { type RequestRow, requestOf } from "./idempotency.js";

type LedgerPart = "deletions" | "erased identities" | "entity keys" | "API keys" | "repeatable deletions";
type EntityPart = Exclude<Part, LedgerPart>;

/** Parts of `entities.db`, without erased data according to the ledger. */
export function entityParts(
  db: Database,
  ledger: Database,
): { readonly [P in EntityPart]: PartSource<CopyRecords[P]> } {
  // Erases nothing, so the clock is not read.
  const { load } = sqliteEntityStore(db, ledger, () => 0);
  return {
    entities: exportTable<StoredEntity>(db, {
      from: "(SELECT id FROM entity)",
      async records(rows: CopyRecord[]) {
        const ids = rows.map(({ id }) => id);
        const profiles = [...(await load(ids, Number.POSITIVE_INFINITY)).profiles.values()];
        const damaged = profiles.find(({ sealed }) => sealed.length === 0);
        if (damaged !== undefined) throw new StartError(`entities.db is damaged: profile ${damaged.id} cannot be read`);
        return profiles;
      },
    }),
    identities: exportTable(db, { from: "(SELECT lower(hex(hash)) AS id, entity FROM identity)" }),
    history: exportTable(db, { from: "message" }),
    "lasting message ids": exportTable(db, { from: "lasting_message_id" }),
    "stream counts": exportTable<StreamCountRecord>(db, {
      from: "stream_count",
      records: (rows: (StreamCountRecord & { saved: number | null })[]) =>
        rows.map(({ saved, ...row }) => ({ ...row, unsaved: saved !== row.count })),
    }),
    streams: exportTable(db, { from: "(SELECT name AS id, last_arrival AS lastArrival FROM stream)" }),
    segments: exportTable<Segment, unknown>(db, { from: "segment", records: (rows) => rows.map(segmentOf) }),
    "deleted segments": exportTable(db, {
      from: "(SELECT id, deleted_at AS at, generation FROM segment_removed)",
    }),
    experiences: exportTable<Experience, unknown>(db, {
      from: "experience",
      records: (rows) => rows.map(recordOf<Experience>),
    }),
    marks: exportTable<Mark, unknown>(db, { from: "mark", records: (rows) => rows.map(recordOf<Mark>) }),
    "hook events": exportTable<OutboxRow, Omit<OutboxRow, "cancels"> & { cancels: number }>(db, {
      from: "hook_event",
      records: (rows) => rows.map(({ id, cancels, ...row }) => ({ ...row, id: String(id), cancels: cancels === 1 })),
    }),
    "repeatable requests": repeatableRequests(db),
  };
}

function repeatableRequests(db: Database): PartSource<IdempotentRequest> {
  return exportTable<IdempotentRequest, RequestRow>(db, {
    from: "idempotent_request",
    records: (rows) => rows.map(requestOf),
  });
}

/** Parts of `ledger.db`. */
export function ledgerParts(db: Database): { readonly [P in LedgerPart]: PartSource<CopyRecords[P]> } {
  const isDestroyed = (key: Uint8Array) => key.every((byte) => byte === 0);

  return {
    deletions: exportTable<DeletionRecord>(db, {
      from: `(SELECT * FROM ${deletionRows} ORDER BY sequence)`,
      records: (rows: DeletionRow[]) =>
        rows.map((row) => {
          const deletion = deletionOf(row);
          return { id: deletion.requestId, sequence: row.sequence, deletion };
        }),
    }),
    "erased identities": exportTable(db, {
      from: `(SELECT hash AS id, erased_identity.cut_off AS cutOff, request_id AS request, sequence
        FROM erased_identity JOIN deletion USING (sequence))`,
    }),
    "entity keys": exportTable(db, {
      from: "(SELECT entity AS id, key FROM entity_key)",
      records: (rows: { id: string; key: Uint8Array }[]) =>
        rows.map(({ id, key }) => ({ id, key: isDestroyed(key) ? undefined : key })),
    }),
    "repeatable deletions": repeatableRequests(db),
    "API keys": exportTable(db, { from: "api_key", records: (rows: unknown[]) => rows.map(apiKeyOf) }),
  };
}

/** Returns the single facts of `ledger.db` and `entities.db`. */
export async function copyFacts(ledger: Database, entities: Database): Promise<CopyFacts> {
  return {
    receiptKey: await factsOf(ledger).text(RECEIPT_KEY),
    alerts: await factsOf(entities).text(ALERTS),
    sequence: acceptedBy(ledger),
    segmentDeletions: segmentDeletions(entities).newest(),
    watermark: await factsOf(entities).number(ERASED),
  };
}

/** Records per batch. */
const BATCH = 500;

/** A table, or a query in its place, whose rows become records. */
interface ExportedTable<R, Row> {
  readonly from: string;
  /** Converts rows to records; without it the rows are the records. */
  readonly records?: (rows: Row[]) => R[] | Promise<R[]>;
}

/** Reads a table of a locked folder. */
function exportTable<R, Row = never>(db: Database, table: ExportedTable<R, Row>): PartSource<R> {
  const { from, records = (rows: Row[]) => rows.map((row) => ({ ...(row as unknown as R) })) } = table;
  const counted = db.prepare(`SELECT count(*) AS count FROM ${from}`);
  const everything = db.prepare(`SELECT * FROM ${from}`);

  return {
    count: async () => (counted.get() as { count: number }).count,

    async *all() {
      for (const rows of weightedBatches(everything.iterate() as Iterable<Row>, BATCH)) yield await records(rows);
    },
  };
}
