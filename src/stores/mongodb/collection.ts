import type { IndexDescription } from "mongodb";

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
