import type { Collection, Document, Filter, OptionalUnlessRequiredId } from "mongodb";
import type { PartTarget } from "../copy.js";

/** Documents that one read hands out, or one write takes. */
const IMPORT_BATCH = 500;

/** How records of a part lie in a collection. */
interface ImportedCollection<D extends Document & { _id: string }, R> {
  readonly collection: Collection<D>;
  readonly documentOf: (record: R) => D;
  readonly recordOf: (document: D) => R;
  /** Documents that are records; all when absent. */
  readonly only?: Filter<D>;
}

/** Fills a collection and reads it back, whole. No other process uses it meanwhile. */
export function importPart<D extends Document & { _id: string }, R>({
  collection,
  documentOf,
  recordOf,
  only = {},
}: ImportedCollection<D, R>): PartTarget<R> {
  return {
    all: () =>
      inBatches(collection.find(only).batchSize(IMPORT_BATCH), (document) => recordOf(document as unknown as D)),

    async add(records) {
      if (records.length === 0) return;
      const documents = records.map((record) => documentOf(record) as OptionalUnlessRequiredId<D>);
      await collection.insertMany(documents, { ordered: false });
    },
  };
}

/** What `read` makes of the documents, in batches. */
export async function* inBatches<D, R>(documents: AsyncIterable<D>, read: (document: D) => R): AsyncGenerator<R[]> {
  let records: R[] = [];
  for await (const document of documents) {
    records.push(read(document));
    if (records.length < IMPORT_BATCH) continue;
    yield records;
    records = [];
  }
  if (records.length > 0) yield records;
}
