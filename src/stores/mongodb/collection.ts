import type { Collection, Filter, FindOptions, IndexDescription, WithId } from "mongodb";

/** A collection as this service needs it: made at start, and looked at again each time. */
export interface CollectionPlan {
  readonly name: string;
  /** Besides that of `_id`. */
  readonly indexes: readonly IndexDescription[];
}

/** Filter for one of these values. */
export function oneOf<T>(values: readonly T[]): { $in: T[] } {
  return { $in: [...values] };
}

/** The documents of these ids. All of them fit into the first batch, so that it is one round trip. */
export async function findByIds<D extends { readonly _id: string }>(
  collection: Collection<D>,
  ids: readonly string[],
  options: FindOptions = {},
): Promise<WithId<D>[]> {
  if (ids.length === 0) return [];
  return collection.find({ _id: oneOf(ids) } as Filter<D>, { batchSize: ids.length + 1, ...options }).toArray();
}

const DUPLICATE = 11000;

/** Whether a write failed for the sole reason that a unique value was there already. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof Error) || isUnconfirmed(error)) return false;
  const failures = writeErrorsOf(error);
  return failures.length > 0 ? failures.every(({ code }) => code === DUPLICATE) : codeOf(error) === DUPLICATE;
}

/** Positions, in a write of many documents, of those that were refused as duplicates; throws any other error. */
export function duplicatesOf(error: unknown): Set<number> {
  if (!isDuplicate(error)) throw error;
  return new Set(writeErrorsOf(error as Error).map(({ index }) => index));
}

function writeErrorsOf(error: Error): { code: number; index: number }[] {
  const { writeErrors } = error as {
    writeErrors?: { code: number; index: number } | { code: number; index: number }[];
  };
  return writeErrors === undefined ? [] : [writeErrors].flat();
}

/** Whether what was written beside the failures may not be kept by a majority. */
function isUnconfirmed(error: Error): boolean {
  const { result } = error as { result?: { getWriteConcernError?: () => unknown } };
  return result?.getWriteConcernError?.() !== undefined;
}

function codeOf(error: Error): unknown {
  return (error as { code?: unknown }).code;
}
