import type { Collection, Document, OptionalUnlessRequiredId } from "mongodb";
import type { PartTarget } from "../copy.js";

/** Documents per read or write. */
const IMPORT_BATCH = 500;

/** A part of a copy in a collection. Without a function a document is its record with `_id` in place of `id`. */
interface ImportedCollection<D extends Document & { _id: string }, R> {
  readonly collection: Collection<D>;
  readonly documentOf?: (record: R) => D;
}

/** Fills a collection and reads it back. No other process uses it concurrently. */
export function importPart<D extends Document & { _id: string }, R extends object>({
  collection,
  documentOf = ({ id, ...rest }: R & { id?: string }) => ({ _id: id, ...rest }) as unknown as D,
}: ImportedCollection<D, R>): PartTarget<R> {
  return {
    documentOf,
    all: () => inBatches(collection.find().batchSize(IMPORT_BATCH)),

    async add(records) {
      if (records.length === 0) return;
      const documents = records.map((record) => documentOf(record) as OptionalUnlessRequiredId<D>);
      await collection.insertMany(documents, { ordered: false });
    },
  };
}

/** Yields documents in batches. */
export async function* inBatches<D>(documents: AsyncIterable<D>): AsyncGenerator<D[]> {
  let batch: D[] = [];
  for await (const document of documents) {
    batch.push(document);
    if (batch.length < IMPORT_BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
