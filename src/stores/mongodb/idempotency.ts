import type { Db } from "mongodb";
import type { Idempotency, IdempotentRequest } from "../../entities/ports.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./errors.js";

export interface RequestDocument extends Omit<IdempotentRequest, "id"> {
  readonly _id: string;
}

export const idempotencyCollections: readonly CollectionPlan[] = [
  { name: "idempotent_requests", indexes: [{ key: { arrival: 1 } }] },
];

const REMEMBERED_MS = 24 * 3_600_000;

/** Repeatable requests, one document each. */
export function mongoIdempotency(db: Db): Idempotency {
  const requests = db.collection<RequestDocument>("idempotent_requests");

  async function begin({ id, arrival, digest, tally }: IdempotentRequest): Promise<IdempotentRequest | undefined> {
    // A request that is not stored has no arrival and begins like one that is too old.
    const isRemembered = { $gt: ["$arrival", arrival - REMEMBERED_MS] };
    const fresh = { _id: "$_id", arrival, digest: { $literal: digest }, tally: { $literal: tally } };
    const stored = await requests.findOneAndUpdate(
      { _id: id },
      [{ $replaceWith: { $cond: [isRemembered, "$$ROOT", fresh] } }],
      { upsert: true, returnDocument: "after" },
    );
    return stored === null ? undefined : requestOf(stored);
  }

  return {
    async begin(request) {
      // If two processes insert it concurrently, one fails and then reads the other's document.
      const stored = await begin(request).catch((error: unknown) => {
        if (isDuplicate(error)) return begin(request);
        throw error;
      });
      return stored ?? request;
    },

    async finish({ id, arrival, digest, tally }) {
      const options = { returnDocument: "after" } as const;
      const finished = { $set: { digest, tally } };
      const stored =
        (await requests.findOneAndUpdate({ _id: id, arrival, tally: "" }, finished, options)) ??
        (await requests.findOne({ _id: id, arrival }));
      return stored === null ? undefined : requestOf(stored);
    },

    async forget(now) {
      await requests.deleteMany({ arrival: { $lte: now - REMEMBERED_MS } });
    },
  };
}

/** Copies the requests of layout 1: those for deletions belong to the ledger now, and cannot be distinguished. */
export async function copyRepeatable(data: Db, ledger: Db): Promise<void> {
  const into = { db: ledger.databaseName, coll: "idempotent_requests" };
  const copied = [{ $merge: { into, whenMatched: "keepExisting" } }];
  await data.collection("idempotent_requests").aggregate(copied).toArray();
}

export function requestOf({ _id: id, arrival, digest, tally }: RequestDocument): IdempotentRequest {
  return { id, arrival, digest, tally };
}
