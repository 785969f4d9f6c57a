import {
  type AnyBulkWriteOperation,
  type BulkWriteOptions,
  type Collection,
  type Document,
  MongoBulkWriteError,
} from "mongodb";
import { isDuplicate } from "./collection.js";

/**
 * FerretDB before its version 2 keeps a connection to its own store for each change of a command until the last one is
 * made. It has 100, and stands still for ever when commands that run at the same time have taken all of them.
 */
const CHANGES = 5;

/** What callers are told of a write of many documents. */
const counts = ["insertedCount", "matchedCount", "modifiedCount", "deletedCount", "upsertedCount"] as const;

type Counts = Record<(typeof counts)[number], number>;
type Operation = AnyBulkWriteOperation<Document>;

/**
 * `bulkWrite` of a collection, in commands of few changes, each made when `write` says so. Unordered, all of them are
 * tried, and a failure other than a duplicate is told before one that is; positions in it are those in its command.
 */
export function bulkWriteInParts(
  collection: Collection<Document>,
  write: (part: () => Promise<Counts>) => Promise<Counts>,
): (operations: Operation[], options?: BulkWriteOptions) => Promise<Counts> {
  return async (operations, options = {}) => {
    const sum: Counts = { insertedCount: 0, matchedCount: 0, modifiedCount: 0, deletedCount: 0, upsertedCount: 0 };
    const failures: MongoBulkWriteError[] = [];
    const isOrdered = options.ordered !== false;
    for (const part of isOrdered ? inParts(operations) : insertsFirst(operations)) {
      try {
        const result = await write(() => collection.bulkWrite(part, options));
        for (const count of counts) sum[count] += result[count];
      } catch (error) {
        if (isOrdered || !(error instanceof MongoBulkWriteError)) throw error;
        failures.push(error);
      }
    }
    const worst = failures.find((failure) => !isDuplicate(failure)) ?? failures[0];
    if (worst !== undefined) throw worst;
    return sum;
  };
}

/** Inserts keep no connection, and stay together. */
function insertsFirst(operations: readonly Operation[]): Operation[][] {
  const inserts = operations.filter((operation) => "insertOne" in operation);
  const others = operations.filter((operation) => !("insertOne" in operation));
  return [...(inserts.length > 0 ? [inserts] : []), ...inParts(others)];
}

function inParts(operations: readonly Operation[]): Operation[][] {
  const parts = Math.ceil(operations.length / CHANGES);
  return Array.from({ length: parts }, (_, index) => operations.slice(index * CHANGES, (index + 1) * CHANGES));
}
