import type { Collection, Db } from "mongodb";
import type { GenerationCounts, SharedGenerations } from "../../../metrics/ports.js";
import type { CollectionPlan } from "../collection.js";

const generations: CollectionPlan = { name: "generations", indexes: [] };

export const generationCollections: readonly CollectionPlan[] = [generations];

/** One document of at most 4,096 counts. */
interface GenerationDocument {
  readonly _id: "series";
  /** Incremented by every change. */
  readonly version: number;
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
        { upsert: true, returnDocument: "after", projection: Object.fromEntries(fields.map((field) => [field, 1])) },
      );
      return countsOf(stored);
    },

    async read(version) {
      const options = { readConcern: "linearizable", maxTimeMS } as const;
      const stored = await collection.findOne({ _id: "series", version: { $ne: version } }, options);
      return stored === null ? undefined : { version: stored.version, counts: countsOf(stored) };
    },
  };
}

function countsOf(stored: GenerationDocument | null): GenerationCounts {
  return new Map(Object.entries(stored?.counts ?? {}).map(([index, count]) => [Number(index), count]));
}
