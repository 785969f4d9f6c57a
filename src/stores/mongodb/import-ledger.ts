import { Binary, type Db } from "mongodb";
import type { ApiKey } from "../../keys/api-key.js";
import type { CopyFacts, DeletionRecord, EntityKeyRecord, PartTarget } from "../copy.js";
import { destroyedKey, type EntityKeyDocument, isLiving, keyWrapping } from "./entity-keys.js";
import { mongoErasureWatermark } from "./erasure-watermark.js";
import { importPart } from "./import-part.js";
import { type KeyDocument, keyOf } from "./key-store.js";
import { type DeletionDocument, deletionOf, deletionsOf, documentOf } from "./ledger-document.js";
import { FORGOTTEN, newestSequence } from "./ledger-sequence.js";
import { raiseTo } from "./marks.js";

/** Parts of the ledger's database. Entity keys are wrapped under the pepper on their way in. */
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
      documentOf: deletionDocument,
      recordOf: (document) => ({
        id: document._id,
        sequence: document.sequence,
        deletion: deletionOf(document),
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
      documentOf: ({ id, revokedAt, ...key }) => ({ _id: id, ...key, revokedAt: revokedAt ?? null }),
      recordOf: keyOf,
    }),
  };
}

/** A request keeps the cut-off of each of its identities. */
function deletionDocument({ deletion, sequence, cutOffs }: DeletionRecord): DeletionDocument {
  const known = new Map(cutOffs.map(({ hash, cutOff }) => [hash, cutOff]));
  return {
    ...documentOf(deletion, sequence),
    suppressed: deletion.hashes.map((hash) => ({ hash, cutOff: known.get(hash) ?? deletion.cutOff })),
  };
}

function byHash(a: { readonly hash: string }, b: { readonly hash: string }): number {
  return a.hash < b.hash ? -1 : 1;
}

/** Numbers up to the source's newest are not given again, also where their requests were forgotten. */
export async function setFacts(data: Db, ledger: Db, { sequence, watermark }: CopyFacts): Promise<void> {
  await raiseTo(ledger, FORGOTTEN, sequence);
  const known = mongoErasureWatermark(data);
  await known.noteAccepted(sequence);
  await known.noteForgotten(sequence);
  await known.write(watermark);
}

export async function readFacts(data: Db, ledger: Db): Promise<CopyFacts> {
  return { sequence: await newestSequence(ledger), watermark: await mongoErasureWatermark(data).read() };
}
