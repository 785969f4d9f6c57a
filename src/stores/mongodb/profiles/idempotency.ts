import { type Db, Long, Timestamp } from "mongodb";
import {
  type Idempotency,
  type IdempotentRequest,
  type LedgerPosition,
  REMEMBERED_MS,
} from "../../../entities/ports.js";
import { randomId } from "../../../ids.js";
import { ledgerPosition, positionNumber } from "../../ledger-position.js";
import type { CollectionPlan } from "../collection.js";
import { isDuplicate } from "../errors.js";

export interface RequestDocument extends Omit<IdempotentRequest, "id" | "began"> {
  readonly _id: string;
  /**
   * Time of the cluster at the first arrival; see `ErasedIdentityDocument`. Absent in a copy if the source had none.
   */
  readonly began?: Timestamp;
  /** Id of the call that stored the request; absent in a copy. */
  readonly call?: string;
}

export const idempotencyCollections: readonly CollectionPlan[] = [
  { name: "idempotent_requests", indexes: [{ key: { arrival: 1 } }] },
];

/** Repeatable requests, one document each. */
export function mongoIdempotency(db: Db): Idempotency {
  const requests = db.collection<RequestDocument>("idempotent_requests");

  const begin: Idempotency["begin"] = async ({ id, arrival, digest, tally }) => {
    const call = randomId();
    // A request that is not stored has no arrival and begins like one that is too old.
    const isRemembered = { $gt: ["$arrival", arrival - REMEMBERED_MS] };
    const texts = { digest: { $literal: digest }, tally: { $literal: tally } };
    const fresh = { _id: "$_id", arrival, ...texts, began: "$$CLUSTER_TIME", call };
    const stored = await requests.findOneAndUpdate(
      { _id: id },
      [{ $replaceWith: { $cond: [isRemembered, "$$ROOT", fresh] } }],
      { upsert: true, returnDocument: "after" },
    );
    if (stored === null) throw new Error("MongoDB returned no document of an upsert");
    return { stored: requestOf(stored), isFirst: stored.call === call };
  };

  return {
    begin: (request) =>
      // If two processes insert it concurrently, one fails and then reads the other's document.
      begin(request).catch((error: unknown) => {
        if (isDuplicate(error)) return begin(request);
        throw error;
      }),

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
      return false;
    },
  };
}

export function requestDocument({ id: _id, began, ...request }: IdempotentRequest): RequestDocument {
  return { _id, ...request, ...(began === "" ? {} : { began: clusterTime(began) }) };
}

export function requestOf({ _id: id, arrival, digest, tally, began }: RequestDocument): IdempotentRequest {
  return { id, arrival, began: began === undefined ? "" : ledgerPosition(began.toBigInt()), digest, tally };
}

/** Returns a position as a time of the cluster. Not for an empty position: the server replaces a zero by its time. */
export function clusterTime(position: LedgerPosition): Timestamp {
  return new Timestamp(Long.fromBigInt(positionNumber(position), true));
}
