import type { Db } from "mongodb";
import type { Lease } from "../../metrics/ports.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./errors.js";

export const leaseCollections: readonly CollectionPlan[] = [{ name: "leases", indexes: [] }];

interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** Unix ms, by the clock of the owner. */
  readonly since: number;
  readonly until: number;
}

/** Leases, a document each. One that another owner holds is not matched, and cannot be made a second time. */
export function mongoLease(db: Db): Lease {
  const leases = db.collection<LeaseDocument>("leases");
  return async (name, owner, now, until) => {
    const free = { _id: name, $or: [{ owner }, { until: { $lte: now } }, { since: { $gt: now } }] };
    try {
      const last = await leases.findOneAndUpdate(free, { $set: { owner, since: now, until } }, { upsert: true });
      return last?.owner === owner ? "renewed" : "taken";
    } catch (error) {
      if (isDuplicate(error)) return "refused";
      throw error;
    }
  };
}
