import { groupedCalls } from "../../async/grouped-calls.js";
import { DamagedData, ServiceError, StartError } from "../../errors.js";

type Driver = Pick<typeof import("@photostructure/sqlite"), "DatabaseSync" | "backup">;

/** SQLite: the build of the package or, if its native part does not load, the one inside Node. */
export const { DatabaseSync, backup } = await loadDriver();

export type Database = InstanceType<Driver["DatabaseSync"]>;

/** Maximum wait of a statement while another process writes to the file, ms. */
export const BUSY_MS = 2_000;

/** Throws a `StartError` if the file is damaged. Reads all of it, so it is for a start that fails anyway. */
export function refuseDamaged(db: Database): void {
  const { file } = db.prepare("PRAGMA database_list").get() as { file: string };
  try {
    const { integrity_check: verdict } = db.prepare("PRAGMA integrity_check(1)").get() as { integrity_check: string };
    if (verdict === "ok") return;
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  throw damagedFile(file);
}

/** The error for a damaged file; for the ledger it warns of older copies, which would bring deleted people back. */
export function damagedFile(path: string, cause?: unknown): StartError {
  const advice = path.endsWith("ledger.db")
    ? "read docs/backup.md before you put a copy in its place: an older one lacks deletions"
    : "put the newest backup in its place";
  return new StartError(`${path} is damaged, or not a database: ${advice}`, { cause });
}

/** Failures of files so far, as `sqliteServiceError` has seen them, and their number at the last check of a file. */
let failureCount = 0;
const failuresAtCheck = new WeakMap<Database, number>();

/**
 * Returns why writes to the file fail, for the operator; undefined if they do not. Writes only after a failure of any
 * file: without requests nothing else would show that writes succeed again.
 */
export function checkWrites(db: Database): string | undefined {
  if ((failuresAtCheck.get(db) ?? 0) === failureCount) return undefined;
  try {
    withoutWaiting(db, () => transaction(db, () => setLayout(db, layoutOf(db))));
    failuresAtCheck.set(db, failureCount);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Runs `work` in one transaction that takes the write lock at its start. It is stored completely or not at all. */
export function inTransaction<T>(db: Database, work: () => T): T {
  try {
    return transaction(db, work);
  } catch (error) {
    // Counts the failure, also of background work, whose errors are only logged.
    sqliteServiceError(error);
    throw error;
  }
}

function transaction<T>(db: Database, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction !== false) db.exec("ROLLBACK");
    throw error;
  }
}

/** SQL of a REAL whose parameters are `exactReal` of it. */
export const EXACT_REAL = "? * ?";

/**
 * Returns the two parameters of `EXACT_REAL`. The driver for Node 20 stores positive numbers below 2^-52 as 0, and
 * negative ones exactly.
 */
export function exactReal(value: number): [number, number] {
  return value > 0 ? [-value, -1] : [value, 1];
}

/**
 * SQL of a REAL as an exact JSON number: SQLite's own has 15 digits, too few for the parts of a ms of an arrival. A
 * whole number, as most times are, is converted in half of the time.
 */
export function exactJson(column: string): string {
  return `iif(${column} = CAST(${column} AS INTEGER), CAST(${column} AS INTEGER), json(format('%!.17g', ${column})))`;
}

/**
 * Groups the calls of one round of the event loop, such as concurrent requests, into one commit with one wait for the
 * disk. If the group fails because of one call, each call is retried alone; if the file fails, all of them reject.
 */
export function sharingCommits<T, R>(work: (items: readonly T[]) => R): (items: readonly T[]) => Promise<R> {
  return groupedCalls(async (items: readonly T[]) => work(items), {
    most: 1_000,
    atOnce: 1,
    afterRound: true,
    isOfOneCall: (error) => sqliteServiceError(error) === undefined,
  });
}

/**
 * Does work without waiting for the disk. A power cut may lose its writes: they are repeated or mean nothing after it.
 */
export function withoutSync<T>(db: Database, work: () => T): T {
  db.exec("PRAGMA synchronous = NORMAL");
  try {
    return work();
  } finally {
    db.exec("PRAGMA synchronous = FULL");
  }
}

/** Does work that fails at once while another process uses the file; waiting for it would delay every request. */
export function withoutWaiting<T>(db: Database, work: () => T): T {
  db.exec("PRAGMA busy_timeout = 0");
  try {
    return work();
  } finally {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
  }
}

/**
 * Closes the file with an empty write-ahead log, so that the folder can be copied. On a full disk the log stays, and
 * the next start reads it.
 */
export function closeDatabase(db: Pick<Database, "exec" | "close">): void {
  try {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    if (sqliteServiceError(error) === undefined) throw error;
  } finally {
    db.close();
  }
}

/** Returns the layout number of a file; 0 for a new one. */
export function layoutOf(db: Database): number {
  return (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** Writes the number even if it is unchanged, which fails for a file that cannot be written to. */
export function setLayout(db: Database, layout: number): void {
  db.exec(`PRAGMA user_version = ${layout}`);
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("@photostructure/sqlite");
  } catch {
    try {
      const builtIn = "node:sqlite";
      return (await import(builtIn)) as Driver;
    } catch {
      throw new StartError(
        `SQLite cannot be loaded: there is no build of @photostructure/sqlite for ${process.platform}-${process.arch}, and Node ${process.versions.node} has none of its own (Node 24 has)`,
      );
    }
  }
}

const LOCKED = "another process keeps it locked";
const READ_ONLY = "the folder or the file cannot be written to";
const DAMAGED = "it is not a database, or it is damaged (put a backup in its place)";
const FULL = 13;

/**
 * Failures of the file or the environment, not of a statement: result code (https://www.sqlite.org/rescode.html),
 * message, as errors of the driver's `all` and `iterate` have no code, and reason for the operator.
 */
const failures: readonly { readonly code: number; readonly message: string; readonly reason?: string }[] = [
  { code: 5, message: "database is locked", reason: LOCKED },
  { code: 6, message: "database table is locked", reason: LOCKED },
  { code: 7, message: "out of memory" },
  { code: 8, message: "attempt to write a readonly database", reason: READ_ONLY },
  { code: 9, message: "interrupted" },
  { code: 10, message: "disk I/O error" },
  { code: 11, message: "database disk image is malformed", reason: DAMAGED },
  { code: FULL, message: "database or disk is full", reason: "the disk is full" },
  { code: 14, message: "unable to open database file", reason: READ_ONLY },
  { code: 26, message: "file is not a database", reason: DAMAGED },
];

/** Returns whether SQLite found a file damaged. */
export function isDamage(error: unknown): boolean {
  return failureOf(error)?.reason === DAMAGED;
}

/** Returns the result of a read; undefined if SQLite found the file damaged. */
export function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

function failureOf(error: unknown) {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") {
    const primary = error.errcode & 0xff;
    return failures.find(({ code }) => code === primary);
  }
  const isOfDriver = "code" in error && error.code === "ERR_SQLITE_ERROR";
  return isOfDriver ? failures.find(({ message }) => message === error.message) : undefined;
}

/**
 * Returns the `ServiceError` for an error of SQLite; undefined for any other error and for a defect of this service.
 * Counts the failure for `checkWrites`.
 */
export function sqliteServiceError(error: unknown): ServiceError | undefined {
  const failure = failureOf(error);
  if (failure !== undefined) failureCount += 1;
  if (failure?.code === FULL) return new ServiceError("out-of-space", "The store has no space left", { cause: error });
  return failure?.reason === DAMAGED ? new DamagedData(error) : failure && unavailable(error);
}

/** Returns the error for a request that a store cannot serve. */
export function unavailable(cause: unknown): ServiceError {
  return new ServiceError("unavailable", "The store is not available", { cause });
}

/** Returns the reason why SQLite cannot use a file, for the operator. */
export function reasonOf(error: unknown): string | undefined {
  return failureOf(error)?.reason ?? (error instanceof Error ? error.message : String(error)).split("\n", 1)[0];
}
