import type { Collection, Filter, FindOptions, IndexDescription, UpdateFilter, WithId } from "mongodb";

/** A collection as this service needs it: made at start, and looked at again each time. */
export interface CollectionPlan {
  readonly name: string;
  /** Besides that of `_id`. */
  readonly indexes: readonly IndexDescription[];
}

/** Filter for one of these values: by equality where there is one, which every server answers from its index. */
export function oneOf<T>(values: readonly T[]): T | { $in: T[] } {
  const [first] = values;
  return values.length === 1 && first !== undefined ? first : { $in: [...values] };
}

/** Up to so many documents are asked for one by one. */
const FEW = 6;

/**
 * The documents of these ids: few of them side by side, each by the one filter that every compatible server answers from its
 * index, many at once.
 */
export async function findByIds<D extends { readonly _id: string }>(
  collection: Collection<D>,
  ids: readonly string[],
  options: FindOptions = {},
): Promise<WithId<D>[]> {
  const filterOf = (_id: string | { $in: string[] }) => ({ _id }) as Filter<D>;
  if (ids.length === 0) return [];
  if (ids.length > FEW) return collection.find(filterOf(oneOf(ids)), { batchSize: ids.length, ...options }).toArray();
  const found = await Promise.all(ids.map((id) => collection.findOne(filterOf(id), options)));
  return found.filter((document) => document !== null);
}

/** Changes the documents of these ids: few of them side by side, as they are found. */
export async function updateByIds<D extends { readonly _id: string }>(
  collection: Collection<D>,
  ids: readonly string[],
  update: UpdateFilter<D>,
): Promise<void> {
  if (ids.length > FEW) await collection.updateMany({ _id: oneOf(ids) } as Filter<D>, update);
  else await Promise.all(ids.map((_id) => collection.updateOne({ _id } as Filter<D>, update)));
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
