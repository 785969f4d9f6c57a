import { Binary, type Db } from "mongodb";
import type { ApiKey } from "../../keys/api-key.js";
import {
  type CopyFacts,
  type CopyRecords,
  type DeletionRecord,
  type EntityKeyRecord,
  type EntityRecord,
  entityRecord,
  type PartTarget,
  type StreamCountRecord,
  type StreamRecord,
  storedEntity,
} from "../copy.js";
import { newestSequence } from "./accept-deletions.js";
import {
  ACCEPTED,
  FORGOTTEN,
  mongoErasureWatermark,
  RECEIPT_KEY,
  raiseTo,
  textOf,
  textOnce,
} from "./database-facts.js";
import {
  type EntityDocument,
  entityCollectionsOf,
  entityDocument,
  entityOf,
  type IdentityDocument,
} from "./entity-document.js";
import { destroyedKey, type EntityKeyDocument, isLiving, type KeyWrapping, keyWrapping } from "./entity-keys.js";
import { expiredCountsOf, type MessageDocument, messageDocument, messageOf, messagesOf } from "./history.js";
import { type RequestDocument, requestOf } from "./idempotency.js";
import { importPart, inBatches } from "./import-part.js";
import { type KeyDocument, keyDocument, keyOf } from "./key-store.js";
import { type DeletionDocument, deletionDocument, deletionOf, deletionsOf } from "./ledger-document.js";
import { type StreamDocument, streamsOf, touchedSlotsOf } from "./slot-counts.js";

/**
 * Profiles, the identities that lead to them, their messages and the counts of these, and the requests that brought
 * them.
 */
export function profileParts(db: Db): {
  readonly [P in
    | "entities"
    | "identities"
    | "history"
    | "stream counts"
    | "streams"
    | "repeatable requests"]: PartTarget<CopyRecords[P]>;
} {
  const { entities, identities } = entityCollectionsOf(db);
  return {
    entities: importPart<EntityDocument, EntityRecord>({
      collection: entities,
      documentOf: (record) => entityDocument(storedEntity(record), record.revision),
      recordOf: (document) => entityRecord(entityOf(document)),
    }),
    identities: importPart<IdentityDocument, CopyRecords["identities"]>({
      collection: identities,
      documentOf: ({ id, entity }) => ({ _id: id, entity }),
      recordOf: ({ _id, entity }) => ({ id: _id, entity }),
    }),
    history: importPart<MessageDocument, CopyRecords["history"]>({
      collection: messagesOf(db),
      documentOf: messageDocument,
      recordOf: messageOf,
      only: { entity: { $ne: null } },
    }),
    "stream counts": streamCounts(db),
    streams: importPart<StreamDocument, StreamRecord>({
      collection: streamsOf(db),
      documentOf: ({ id, lastArrival }) => ({ _id: id, lastArrival }),
      recordOf: ({ _id, lastArrival }) => ({ id: _id, lastArrival }),
    }),
    "repeatable requests": importPart<RequestDocument, CopyRecords["repeatable requests"]>({
      collection: db.collection<RequestDocument>("idempotent_requests"),
      documentOf: ({ id, ...request }) => ({ _id: id, ...request }),
      recordOf: requestOf,
    }),
  };
}

/** Counts of a slot beyond its stored messages are added to the expired ones. Messages must be stored first. */
function streamCounts(db: Db): PartTarget<StreamCountRecord> {
  const messages = messagesOf(db);
  const expired = expiredCountsOf(db);
  const notes = touchedSlotsOf(db);

  return {
    /** Slots with messages, or with a count of expired ones, out: `{ _id: { stream, slot }, count }`. */
    async *all() {
      const slots = messages.aggregate<{ _id: { stream: string; slot: number }; count: number }>(
        [
          { $group: { _id: { stream: "$stream", slot: "$slot" }, count: { $sum: 1 } } },
          {
            $unionWith: {
              coll: "expired_counts",
              pipeline: [{ $project: { _id: { stream: "$stream", slot: "$slot" }, count: 1 } }],
            },
          },
          { $group: { _id: "$_id", count: { $sum: "$count" } } },
        ],
        { allowDiskUse: true },
      );
      const unsaved = new Set<string>();
      for await (const { stream, slot } of notes.find()) unsaved.add(slotKey(stream, slot));
      yield* inBatches(slots, ({ _id: { stream, slot }, count }) => ({
        stream,
        slot,
        count,
        unsaved: unsaved.has(slotKey(stream, slot)),
      }));
    },

    async add(records) {
      for (const { stream, slot, count, unsaved } of records) {
        const beyond = count - (await messages.countDocuments({ stream, slot }));
        const saved = unsaved ? {} : { saved: count };
        await expired.insertOne({ _id: slotKey(stream, slot), stream, slot, count: beyond, ...saved });
        if (unsaved) await notes.insertOne({ stream, slot, messages: count });
      }
    },
  };
}

function slotKey(stream: string, slot: number): string {
  return `${slot}/${stream}`;
}

/** Parts of the ledger's database. Entity keys are wrapped under the pepper before they are stored. */
export function ledgerParts(
  db: Db,
  pepper: Uint8Array,
): {
  readonly deletions: PartTarget<DeletionRecord>;
  readonly "entity keys": PartTarget<EntityKeyRecord>;
  readonly "API keys": PartTarget<ApiKey>;
} {
  const wrapping = keyWrapping(pepper);
  return {
    deletions: importPart<DeletionDocument, DeletionRecord>({
      collection: deletionsOf(db),
      documentOf: (record) => copiedDeletion(record, wrapping),
      recordOf: (document) => ({
        id: document._id,
        sequence: document.sequence,
        deletion: deletionOf(document, wrapping),
        cutOffs: document.suppressed.map(({ hash, cutOff }) => ({ hash, cutOff })).sort(byHash),
      }),
    }),
    "entity keys": importPart<EntityKeyDocument, EntityKeyRecord>({
      collection: db.collection<EntityKeyDocument>("entity_keys"),
      documentOf: ({ id, key }) => ({
        _id: id,
        key: key === undefined ? destroyedKey() : new Binary(wrapping.wrap(key)),
      }),
      recordOf: (document) => ({
        id: document._id,
        key: isLiving(document) ? wrapping.unwrap(document.key.value()) : undefined,
      }),
    }),
    "API keys": importPart<KeyDocument, ApiKey>({
      collection: db.collection<KeyDocument>("api_keys"),
      documentOf: keyDocument,
      recordOf: keyOf,
    }),
  };
}

/** A request keeps the cut-off of each of its identities. */
function copiedDeletion({ deletion, sequence, cutOffs }: DeletionRecord, wrapping: KeyWrapping): DeletionDocument {
  const known = new Map(cutOffs.map(({ hash, cutOff }) => [hash, cutOff]));
  return {
    ...deletionDocument(deletion, sequence, wrapping),
    suppressed: deletion.hashes.map((hash) => ({ hash, cutOff: known.get(hash) ?? deletion.cutOff })),
  };
}

function byHash(a: { readonly hash: string }, b: { readonly hash: string }): number {
  return a.hash < b.hash ? -1 : 1;
}

/**
 * Numbers up to the source's newest are not assigned again, even if their requests were forgotten. In this order the
 * databases can be reopened after an interruption: neither seems older than the other.
 */
export async function setFacts(data: Db, ledger: Db, { sequence, watermark, receiptKey }: CopyFacts): Promise<void> {
  const known = mongoErasureWatermark(data);
  await known.noteForgotten(sequence);
  await raiseTo(ledger, FORGOTTEN, sequence);
  await raiseTo(data, ACCEPTED, sequence);
  await known.write(watermark);
  if (receiptKey !== undefined) await textOnce(ledger, RECEIPT_KEY, receiptKey);
}

export async function readFacts(data: Db, ledger: Db): Promise<CopyFacts> {
  const [sequence, watermark] = [await newestSequence(ledger), await mongoErasureWatermark(data).read()];
  const receiptKey = await textOf(ledger, RECEIPT_KEY);
  return { sequence, watermark, ...(receiptKey === undefined ? {} : { receiptKey }) };
}
