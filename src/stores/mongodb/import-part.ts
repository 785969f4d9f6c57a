import type { Collection, Document, OptionalUnlessRequiredId } from "mongodb";
import type { PartTarget } from "../copy.js";

/** Documents per read or write. */
const IMPORT_BATCH = 500;

/** A part of a copy in a collection. Without functions a record is its document with `id` in place of `_id`. */
interface ImportedCollection<D extends Document & { _id: string }, R> {
  readonly collection: Collection<D>;
  readonly documentOf?: (record: R) => D;
  readonly recordOf?: (document: D) => R;
}

/** Fills a collection and reads it back. No other process uses it concurrently. */
export function importPart<D extends Document & { _id: string }, R extends object>({
  collection,
  documentOf = ({ id, ...rest }: R & { id?: string }) => ({ _id: id, ...rest }) as unknown as D,
  recordOf = ({ _id: id, ...rest }: D) => ({ id, ...rest }) as unknown as R,
}: ImportedCollection<D, R>): PartTarget<R> {
  return {
    all: () => inBatches(collection.find().batchSize(IMPORT_BATCH), (document) => recordOf(document as unknown as D)),

    async add(records) {
      if (records.length === 0) return;
      const documents = records.map((record) => documentOf(record) as OptionalUnlessRequiredId<D>);
      await collection.insertMany(documents, { ordered: false });
    },
  };
}

/** Yields the results of `read`, in batches. */
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
