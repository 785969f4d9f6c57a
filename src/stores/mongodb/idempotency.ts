import type { Db, Filter } from "mongodb";
import type { Idempotency, IdempotentRequest } from "../../entities/ports.js";
import { ServiceError } from "../../errors.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./errors.js";

/** `owner` has the request until `until` (Unix ms). */
export interface RequestDocument extends Omit<IdempotentRequest, "id"> {
  readonly _id: string;
  readonly owner: string | null;
  readonly until: number;
}

export const idempotencyCollections: readonly CollectionPlan[] = [
  { name: "idempotent_requests", indexes: [{ key: { arrival: 1 } }] },
];

const REMEMBERED_MS = 24 * 3_600_000;

/** Progress of repeatable requests, one document each; every change names the owner that it expects. */
export function mongoIdempotency(db: Db): Idempotency {
  const requests = db.collection<RequestDocument>("idempotent_requests");

  return {
    async begin(id, owner, now, until) {
      const free: Filter<RequestDocument>[] = [{ owner: null }, { until: { $lte: now } }, { until: { $gt: until } }];
      const isHeld = { $and: [{ $gt: ["$owner", null] }, { $gt: ["$until", now] }, { $lte: ["$until", until] }] };
      const isRemembered = { $or: [isHeld, { $gt: ["$arrival", now - REMEMBERED_MS] }] };
      const held = { owner: { $literal: owner }, until };
      const fresh = { arrival: now, done: 0, digest: "", finished: false, tally: "", ...held };
      // A record that is not there has no arrival, and begins anew as an old one does.
      const taken = { $cond: [isRemembered, { $mergeObjects: ["$$ROOT", held] }, { _id: "$_id", ...fresh }] };
      try {
        const kept = await requests.findOneAndUpdate(
          { _id: id, $or: [...free, { owner }] },
          [{ $replaceWith: taken }],
          { upsert: true, returnDocument: "after" },
        );
        return kept === null ? undefined : requestOf(kept);
      } catch (error) {
        // Another owner has it.
        if (isDuplicate(error)) return undefined;
        throw error;
      }
    },

    async advance({ id, done, digest, finished, tally }, owner, until) {
      const { matchedCount } = await requests.updateOne(
        { _id: id, owner },
        { $set: { done, digest, finished, tally, until } },
      );
      if (matchedCount === 0) {
        throw new ServiceError("conflict", "Another request with this Idempotency-Key is under way");
      }
    },

    async release(id, owner) {
      await requests.updateOne({ _id: id, owner }, { $set: { owner: null } });
    },

    async forget(now) {
      await requests.deleteMany({
        arrival: { $lte: now - REMEMBERED_MS },
        $or: [{ owner: null }, { until: { $lte: now } }],
      });
    },
  };
}

export function requestOf({ _id: id, arrival, done, digest, finished, tally }: RequestDocument): IdempotentRequest {
  return { id, arrival, done, digest, finished, tally };
}
