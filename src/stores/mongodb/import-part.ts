import type { Collection, Document, Filter, OptionalUnlessRequiredId } from "mongodb";
import type { CopyRecord, PartTarget } from "../copy.js";
import { duplicatesOf, oneOf } from "./collection.js";

/** Documents that one read hands out, or one write takes. */
const BATCH = 500;

/** How records of a part lie in a collection. */
export interface ImportedCollection<D extends Document & { _id: string }, R extends CopyRecord> {
  readonly collection: Collection<D>;
  readonly documentOf: (record: R) => D;
  readonly recordOf: (document: D) => R;
  /** `_id` of the document of a record, where it is not its id. */
  readonly keyOf?: (id: string) => string;
}

/** Fills a collection and reads it back, whole. Nobody else uses it meanwhile. */
export function importPart<D extends Document & { _id: string }, R extends CopyRecord>({
  collection,
  documentOf,
  recordOf,
  keyOf = (id) => id,
}: ImportedCollection<D, R>): PartTarget<R> {
  return {
    async *all() {
      let records: R[] = [];
      for await (const document of collection.find().batchSize(BATCH)) {
        records.push(recordOf(document as unknown as D));
        if (records.length < BATCH) continue;
        yield records;
        records = [];
      }
      if (records.length > 0) yield records;
    },

    async add(records) {
      if (records.length === 0) return;
      const documents = records.map((record) => documentOf(record) as OptionalUnlessRequiredId<D>);
      await collection.insertMany(documents, { ordered: false }).catch(duplicatesOf);
    },

    async remove(ids) {
      for (let from = 0; from < ids.length; from += BATCH) {
        const keys = ids.slice(from, from + BATCH).map(keyOf);
        await collection.deleteMany({ _id: oneOf(keys) } as Filter<D>);
      }
    },
  };
}

/** One part that lies in two collections; `isFirst` says of a record in which. */
export function eitherPart<R extends CopyRecord>(
  first: PartTarget<R>,
  second: PartTarget<R>,
  isFirst: (record: R) => boolean,
): PartTarget<R> {
  return {
    async *all() {
      yield* first.all();
      yield* second.all();
    },
    async add(records) {
      await first.add(records.filter(isFirst));
      await second.add(records.filter((record) => !isFirst(record)));
    },
    async remove(ids) {
      await first.remove(ids);
      await second.remove(ids);
    },
  };
}
