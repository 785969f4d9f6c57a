import type { Db } from "mongodb";
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

/** Each attempt but the first two needs another owner of the same request at the same time. */
const ATTEMPTS = 20;

/** Progress of repeatable requests, one document each; every change names the owner that it expects. */
export function mongoIdempotency(db: Db): Idempotency {
  const requests = db.collection<RequestDocument>("idempotent_requests");

  return {
    async begin(id, owner, now, until) {
      const fresh = { arrival: now, done: 0, digest: "", finished: false, tally: "", owner, until };
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const found = await requests.findOne({ _id: id });
        if (found === null) {
          if (await isInserted(requests.insertOne({ _id: id, ...fresh }))) return requestOf({ _id: id, ...fresh });
          continue;
        }
        const isFree = found.owner === null || found.until <= now || found.until > until;
        if (!isFree && found.owner !== owner) return undefined;
        const taken = await requests.findOneAndUpdate(
          { _id: id, arrival: found.arrival, owner: found.owner, until: found.until },
          { $set: isFree && found.arrival <= now - REMEMBERED_MS ? fresh : { owner, until } },
          { returnDocument: "after" },
        );
        if (taken !== null) return requestOf(taken);
      }
      throw new ServiceError("unavailable", "Too many repeat the same request at once", { retryAfter: 1 });
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

/** False: another request was first. */
async function isInserted(insert: Promise<unknown>): Promise<boolean> {
  try {
    await insert;
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
