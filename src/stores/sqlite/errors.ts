import { ServiceError } from "../../errors.js";

/** SQLite's primary result codes for what passes, and for a full disk. */
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const INTERRUPTED = 9;
const IO_ERROR = 10;
const FULL = 13;
const CANNOT_OPEN = 14;

/** What an error of SQLite means to a caller; undefined when it is none, or a mistake of ours. */
export function sqliteServiceError(error: unknown): ServiceError | undefined {
  const code = resultCode(error);
  if (code === FULL) return new ServiceError("out-of-space", "The store has no space left", { cause: error });
  if ([BUSY, LOCKED, NO_MEMORY, INTERRUPTED, IO_ERROR, CANNOT_OPEN].includes(code)) {
    return new ServiceError("unavailable", "The store is not available", { cause: error });
  }
  return undefined;
}

function resultCode(error: unknown): number {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return -1;
  return error.errcode & 0xff;
}
