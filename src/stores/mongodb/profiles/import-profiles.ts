import { Binary, type Db } from "mongodb";
import { ERASED } from "../../../deletions/ports.js";
import type { OutboxRow } from "../../../entities/outbox.js";
import type { IdempotentRequest } from "../../../entities/ports.js";
import type { StoredEntity } from "../../../entities/profile/entity.js";
import type { ApiKey } from "../../../keys/api-key.js";
import { ALERTS } from "../../../metrics/ports.js";
import type {
  CopyFacts,
  CopyRecords,
  DeletionRecord,
  EntityKeyRecord,
  ErasedIdentityRecord,
  PartTarget,
  StreamCountRecord,
  StreamRecord,
} from "../../copy.js";
import { ACCEPTED, FORGOTTEN, RECEIPT_KEY, SEGMENT_GENERATION } from "../../database-facts.js";
import { ledgerPosition } from "../../ledger-position.js";
import { type KeyDocument, keyDocument } from "../catalogue/key-store.js";
import { factsOf } from "../database-facts.js";
import { type DeletionDocument, deletionDocument, deletionsOf } from "../deletions/ledger-document.js";
import { newestNumber } from "../deletions/number-deletions.js";
import { type ErasedIdentityDocument, erasedIdentitiesOf } from "../deletions/suppression.js";
import { importPart } from "../import-part.js";
import {
  type StreamCountDocument,
  type StreamDocument,
  streamCountId,
  streamCountsOf,
  streamsOf,
} from "../series/slot-counts.js";
import { newestGeneration } from "./deleted-segments.js";
import { type EntityDocument, entityCollectionsOf, entityDocument, type IdentityDocument } from "./entity-document.js";
import { destroyedKey, type EntityKeyDocument, entityKeysOf, keyWrapping } from "./entity-keys.js";
import { type LastingIdDocument, lastingIdsOf, type MessageDocument, messageDocument, messagesOf } from "./history.js";
import { clusterTime, type RequestDocument, requestDocument } from "./idempotency.js";
import { type OutboxDocument, outboxOf } from "./outbox.js";

/** Profiles with their identities, messages with their counts, and the requests that contained the messages. */
export function profileParts(db: Db) {
  const { entities, identities } = entityCollectionsOf(db);
  return {
    entities: importPart<EntityDocument, StoredEntity>({
      collection: entities,
      documentOf: (entity) => entityDocument(entity, entity.revision),
    }),
    identities: importPart<IdentityDocument, CopyRecords["identities"]>({ collection: identities }),
    history: importPart<MessageDocument, CopyRecords["history"]>({
      collection: messagesOf(db),
      documentOf: messageDocument,
    }),
    "lasting message ids": importPart<LastingIdDocument, CopyRecords["lasting message ids"]>({
      collection: lastingIdsOf(db),
    }),
    "stream counts": importPart<StreamCountDocument, StreamCountRecord>({
      collection: streamCountsOf(db),
      documentOf: ({ unsaved, ...count }) => ({
        _id: streamCountId(count.stream, count.slot),
        ...count,
        saved: unsaved ? null : count.count,
        unsaved,
      }),
    }),
    streams: importPart<StreamDocument, StreamRecord>({ collection: streamsOf(db) }),
    "hook events": importPart<OutboxDocument, OutboxRow>({ collection: outboxOf(db) }),
    "repeatable requests": requestPart(db),
  };
}

/** Parts of the ledger's database. Entity keys are wrapped under the pepper before they are stored. */
export function ledgerParts(db: Db, pepper: Uint8Array) {
  const wrapping = keyWrapping(pepper);
  return {
    deletions: importPart<DeletionDocument, DeletionRecord>({
      collection: deletionsOf(db),
      documentOf: ({ deletion, sequence }) => deletionDocument(deletion, sequence, wrapping),
    }),
    "erased identities": importPart<ErasedIdentityDocument, ErasedIdentityRecord>({
      collection: erasedIdentitiesOf(db),
      // A number of the source, as a time, is before every time of the cluster.
      documentOf: ({ id, sequence, ...rest }) => ({
        _id: id,
        accepted: clusterTime(ledgerPosition(sequence)),
        ...rest,
      }),
    }),
    "entity keys": importPart<EntityKeyDocument, EntityKeyRecord>({
      collection: entityKeysOf(db),
      documentOf: ({ id, key }) => ({
        _id: id,
        key: key === undefined ? destroyedKey() : new Binary(wrapping.wrap(key)),
      }),
    }),
    "repeatable deletions": requestPart(db),
    "API keys": importPart<KeyDocument, ApiKey>({
      collection: db.collection<KeyDocument>("api_keys"),
      documentOf: keyDocument,
    }),
  };
}

function requestPart(db: Db): PartTarget<IdempotentRequest> {
  return importPart<RequestDocument, IdempotentRequest>({
    collection: db.collection<RequestDocument>("idempotent_requests"),
    documentOf: requestDocument,
  });
}

/**
 * Numbers up to the source's newest are not assigned again, even if their requests were forgotten. In this order the
 * databases can be reopened after an interruption: neither seems older than the other.
 */
export async function setFacts(
  data: Db,
  ledger: Db,
  { sequence, watermark, segmentDeletions, receiptKey, alerts }: CopyFacts,
): Promise<void> {
  const [ofData, ofLedger] = [factsOf(data), factsOf(ledger)];
  await ofData.raise(SEGMENT_GENERATION, segmentDeletions);
  await ofLedger.raise(FORGOTTEN, sequence);
  await ofData.raise(ACCEPTED, sequence);
  await ofData.raise(ERASED, watermark);
  if (receiptKey !== undefined) await ofLedger.textOnce(RECEIPT_KEY, receiptKey);
  if (alerts !== undefined) await ofData.textOnce(ALERTS, alerts);
}

export async function readFacts(data: Db, ledger: Db): Promise<CopyFacts> {
  const [sequence, watermark] = [await newestNumber(ledger), await factsOf(data).number(ERASED)];
  const receiptKey = await factsOf(ledger).text(RECEIPT_KEY);
  const alerts = await factsOf(data).text(ALERTS);
  return { sequence, watermark, segmentDeletions: await newestGeneration(data), receiptKey, alerts };
}
