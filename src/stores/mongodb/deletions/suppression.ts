import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Timestamp } from "mongodb";
import type { Deletion } from "../../../deletions/deletion.js";
import type { CutOff, Suppression } from "../../../entities/ports.js";
import type { IdentityHash } from "../../../entities/profile/identity.js";
import { ledgerPosition } from "../../ledger-position.js";
import { byIds, type CollectionPlan, type InSession } from "../collection.js";
import { committedRead } from "../committed-read.js";
import { deletionsOf } from "./ledger-document.js";

export const erasedIdentities: CollectionPlan = { name: "erased_identities", indexes: [] };

/** A deleted identity. */
export interface ErasedIdentityDocument {
  readonly _id: IdentityHash;
  /** The newest acceptance of its requests, Unix ms. */
  readonly cutOff: number;
  /** The newest of its requests. */
  readonly request: string;
  /**
   * Time of the cluster at the newest request. The server advances it with each write, and a new primary continues from
   * the newest write that it has: so it orders writes that a majority has, even if clocks differ.
   */
  readonly accepted: Timestamp;
}

export function erasedIdentitiesOf(ledger: Db): Collection<ErasedIdentityDocument> {
  return ledger.collection<ErasedIdentityDocument>(erasedIdentities.name);
}

/** Stores the identities of accepted requests. Concurrent transactions over one identity conflict. */
export async function addErasedIdentities(
  ledger: Db,
  accepted: readonly Deletion[],
  session: ClientSession,
): Promise<void> {
  const writes: AnyBulkWriteOperation<ErasedIdentityDocument>[] = accepted.flatMap(
    ({ requestId, hashes, acceptedAt }) =>
      hashes.map((_id) => ({
        updateOne: {
          filter: { _id },
          update: {
            $max: { cutOff: acceptedAt },
            $set: { request: requestId },
            $currentDate: { accepted: { $type: "timestamp" } },
          },
          upsert: true,
        },
      })),
  );
  await erasedIdentitiesOf(ledger).bulkWrite(writes, { session });
}

/** Returns the newest deletion of each of these identities. */
export async function newestCutOffs(
  ledger: Db,
  hashes: readonly IdentityHash[],
  inside: InSession = {},
): Promise<Map<IdentityHash, CutOff>> {
  if (hashes.length === 0) return new Map();
  const found = await erasedIdentitiesOf(ledger).find(byIds(hashes), inside).toArray();
  return new Map(found.map((document) => [document._id, cutOffOf(document)]));
}

function cutOffOf({ cutOff: time, accepted }: ErasedIdentityDocument): CutOff {
  return { time, position: ledgerPosition(accepted.toBigInt()) };
}

/** Suppression in the database of the ledger. */
export function mongoSuppression(ledger: Db): Suppression {
  const deletions = deletionsOf(ledger);

  return {
    // A message may be dropped without a write, so no other operation would wait until a majority has its deletion. And
    // a batch that conflicts relies on cut-offs that contain every answered deletion (`afterConflict`).
    cutOffs: (hashes) => committedRead(ledger, (options) => newestCutOffs(ledger, hashes, options)),

    async erased(ids) {
      if (ids.length === 0) return new Set();
      const requested = new Set(ids);
      const erased = await deletions.distinct("entities", { entities: { $in: [...requested] } });
      return new Set(erased.filter((id) => requested.has(id)));
    },
  };
}
