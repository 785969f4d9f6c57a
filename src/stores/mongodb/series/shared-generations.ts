import type { Collection, Db } from "mongodb";
import {
  orderClock,
  type RaiseOrder,
  type SettingSource,
  type SharedCounts,
  type SharedGenerations,
} from "../../../metrics/ports.js";
import type { CollectionPlan } from "../collection.js";

const generations: CollectionPlan = { name: "generations", indexes: [] };

export const generationCollections: readonly CollectionPlan[] = [generations];

/** One document of at most 4,096 counts. */
interface GenerationDocument {
  readonly _id: "series";
  /** Incremented by every change. */
  readonly version: number;
  /** Orders of writes; each is absent before it is first raised. */
  readonly orders?: { readonly [S in SettingSource]?: number };
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * The counts in the database of the profiles. Reads are linearizable: a primary that was cut off and replaced does not
 * answer, and the server aborts the read after `maxTimeMS`.
 * https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/
 */
export function mongoSharedGenerations(db: Db, maxTimeMS: number): SharedGenerations {
  const collection: Collection<GenerationDocument> = db.collection(generations.name);

  return {
    async increment(at) {
      const fields = Array.from(at, (index) => `counts.${index}`);
      const stored = await collection.findOneAndUpdate(
        { _id: "series" },
        { $inc: Object.fromEntries(["version", ...fields].map((field) => [field, 1])) },
        {
          upsert: true,
          returnDocument: "after",
          projection: Object.fromEntries(["orders", ...fields].map((f) => [f, 1])),
        },
      );
      return countsOf(stored);
    },

    async read(version) {
      const options = { readConcern: "linearizable", maxTimeMS } as const;
      const stored = await collection.findOne({ _id: "series", version: { $ne: version } }, options);
      return stored === null ? undefined : { version: stored.version, ...countsOf(stored) };
    },
  };
}

/** The orders in the same document, which `increment` and `read` return. */
export function mongoRaiseOrder(db: Db): RaiseOrder {
  const collection: Collection<GenerationDocument> = db.collection(generations.name);
  const { sinceMs, untilMs, unitMs } = orderClock;
  const elapsedMs = { $subtract: [{ $min: ["$$NOW", new Date(untilMs)] }, new Date(sinceMs)] };
  const byClock = { $floor: { $divide: [elapsedMs, unitMs] } };
  const version = { $add: [{ $ifNull: ["$version", 0] }, 1] };
  return async (of) => {
    const order = { $max: [{ $add: [`$orders.${of}`, 1] }, byClock] };
    const options = { upsert: true, returnDocument: "after", projection: { orders: 1 } } as const;
    const raise = [{ $set: { [`orders.${of}`]: order, version } }];
    const stored = await collection.findOneAndUpdate({ _id: "series" }, raise, options);
    return stored?.orders?.[of] as number;
  };
}

function countsOf(stored: GenerationDocument | null): SharedCounts {
  const counts = Object.entries(stored?.counts ?? {}).map(([index, count]) => [Number(index), count] as const);
  return { counts: new Map(counts), order: stored?.orders?.clients ?? 0 };
}
