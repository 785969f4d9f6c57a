import type { Collection } from "mongodb";
import type { SlotClaims } from "../../metrics/slot-claims.js";
import { isDuplicate } from "./collection.js";

export interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** Unix ms, by the clock of the owner. */
  readonly since: number;
  readonly until: number;
}

/** Leases, a document each: it is changed only when it does not hold the caller off, and cannot be made twice. */
export function mongoLease(leases: Collection<LeaseDocument>): SlotClaims["lease"] {
  return async (name, owner, now, until) => {
    const free = { _id: name, $or: [{ owner }, { until: { $lte: now } }, { since: { $gt: now } }] };
    try {
      await leases.updateOne(free, { $set: { owner, since: now, until } }, { upsert: true });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  };
}
