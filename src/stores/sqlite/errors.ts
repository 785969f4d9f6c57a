import { ServiceError } from "../../errors.js";

/** Primary result codes of SQLite: https://www.sqlite.org/rescode.html */
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const INTERRUPTED = 9;
const IO_ERROR = 10;
const FULL = 13;
const CANNOT_OPEN = 14;

/** The `ServiceError` that an error of SQLite stands for; undefined for any other error, and for a defect of this service. */
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

/** Why SQLite cannot open a file, in words for the operator. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/not a database|malformed|disk image/i.test(text))
    return "it is not a database, or it is damaged (put a backup in its place)";
  if (/unable to open|readonly|read-only|permission/i.test(text)) return "the folder or the file cannot be written to";
  if (/disk is full|database or disk/i.test(text)) return "the disk is full";
  if (/locked|busy/i.test(text)) return "another process keeps it locked";
  return text.split("\n", 1)[0] ?? text;
}
