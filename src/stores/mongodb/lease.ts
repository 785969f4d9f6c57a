import type { Db } from "mongodb";
import type { Lease } from "../../metrics/ports.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./errors.js";
import type { Transact } from "./transaction.js";

const leases: CollectionPlan = { name: "leases", indexes: [] };

export const leaseCollections: readonly CollectionPlan[] = [leases];

interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** Unix ms, by the clock of the owner. */
  readonly since: number;
  readonly until: number;
}

/**
 * One document per lease. A lease that another owner holds does not match the update, and its `_id` prevents an insert.
 */
export function mongoLease(db: Db, transact: Transact): Lease {
  const documents = db.collection<LeaseDocument>(leases.name);
  return async (name, owner, now, until) => {
    const free = { _id: name, $or: [{ owner }, { until: { $lte: now } }, { since: { $gt: now } }] };
    const taken = { $set: { owner, since: now, until } };
    try {
      const last = await transact((session) => documents.findOneAndUpdate(free, taken, { session, upsert: true }));
      return last?.owner === owner ? "renewed" : "taken";
    } catch (error) {
      if (isDuplicate(error)) return "refused";
      throw error;
    }
  };
}
