import type { Collection, Db } from "mongodb";
import type { EpochNumbers, Lease, SharedEpochs } from "../../metrics/ports.js";
import type { CollectionPlan } from "./collection.js";
import { isDuplicate } from "./errors.js";

const leases: CollectionPlan = { name: "leases", indexes: [] };
const epochs: CollectionPlan = { name: "epochs", indexes: [] };

/** What processes over the same databases agree on. */
export const processCollections: readonly CollectionPlan[] = [leases, epochs];

interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** Unix ms, by the clock of the owner. */
  readonly since: number;
  readonly until: number;
}

/** Leases, a document each. One that another owner holds is not matched, and cannot be made a second time. */
export function mongoLease(db: Db): Lease {
  const documents = db.collection<LeaseDocument>(leases.name);
  return async (name, owner, now, until) => {
    const free = { _id: name, $or: [{ owner }, { until: { $lte: now } }, { since: { $gt: now } }] };
    try {
      const last = await documents.findOneAndUpdate(free, { $set: { owner, since: now, until } }, { upsert: true });
      return last?.owner === owner ? "renewed" : "taken";
    } catch (error) {
      if (isDuplicate(error)) return "refused";
      throw error;
    }
  };
}

/** One document: no more than 4,096 numbers of either kind. */
interface EpochDocument {
  readonly _id: "series";
  /** Goes up with every change. */
  readonly version: number;
  readonly begun?: Readonly<Record<string, number>>;
  readonly ended?: Readonly<Record<string, number>>;
}

/**
 * The numbers in the database of the profiles. A read is linearizable: a primary that was cut off, and has been replaced, does not answer it, and the
 * server gives it up after `maxTimeMS`.
 * https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/
 */
export function mongoSharedEpochs(db: Db, maxTimeMS: number): SharedEpochs {
  const collection: Collection<EpochDocument> = db.collection(epochs.name);

  return {
    async add({ begun, ended }) {
      const fields = [...fieldsOf("begun", begun), ...fieldsOf("ended", ended)];
      const kept = await collection.findOneAndUpdate(
        { _id: "series" },
        { $inc: Object.fromEntries([["version", 1], ...fields]) },
        { upsert: true, returnDocument: "after", projection: projectionOf(begun, ended) },
      );
      return numbersOf(kept ?? {});
    },

    async read(version) {
      const options = { readConcern: "linearizable", maxTimeMS } as const;
      const kept = await collection.findOne({ _id: "series", version: { $ne: version } }, options);
      return kept === null ? undefined : { version: kept.version, ...numbersOf(kept) };
    },
  };
}

function fieldsOf(name: string, numbers: ReadonlyMap<number, number>): [string, number][] {
  return Array.from(numbers, ([index, more]) => [`${name}.${index}`, more]);
}

/** Both numbers of every index that is named. */
function projectionOf(...numbers: readonly ReadonlyMap<number, number>[]): Record<string, 1> {
  const indexes = new Set(numbers.flatMap((one) => [...one.keys()]));
  return Object.fromEntries(
    [...indexes].flatMap((index) => [`begun.${index}`, `ended.${index}`]).map((name) => [name, 1]),
  );
}

function numbersOf({ begun = {}, ended = {} }: Partial<EpochDocument>): EpochNumbers {
  const mapOf = (numbers: Readonly<Record<string, number>>) =>
    new Map(Object.entries(numbers).map(([index, number]) => [Number(index), number]));
  return { begun: mapOf(begun), ended: mapOf(ended) };
}
