import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "../../errors.js";
import { backup, DatabaseSync, reasonOf } from "./connection.js";
import type { Folders } from "./folder.js";

/** Pages copied before other work runs. */
const PAGES_A_STEP = 1000;

/** Name of a copy that is not complete yet. */
const partOf = (to: string) => `${to}.partial`;

/**
 * Copies a database in its current state while this or another process writes to it. The copy is checked, durable, and
 * renamed to `to` when complete; it replaces an older one. A failure leaves nothing behind.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: (done: number, pages: number) => void,
): Promise<void> {
  if (!existsSync(from)) throw new StartError(`${from} does not exist: there is nothing to copy`);
  removePart(to);
  try {
    await copyInto(partOf(to), from, onProgress);
    renameSync(partOf(to), to);
  } catch (error) {
    throw error instanceof StartError
      ? error
      : new StartError(`${from} cannot be copied: ${reasonOf(error)}`, { cause: error });
  } finally {
    removePart(to);
  }
  sync(dirname(to));
}

/** Removes the remains of an unfinished copy. */
export function removePart(to: string): void {
  for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(`${partOf(to)}${end}`, { force: true });
}

async function copyInto(fresh: string, from: string, onProgress: (done: number, pages: number) => void): Promise<void> {
  const source = new DatabaseSync(from, { timeout: 10_000 });
  try {
    // An open read transaction pins a snapshot: without it every write of another process would restart the copy.
    source.exec("BEGIN");
    source.prepare("SELECT count(*) FROM sqlite_schema").get();
    await backup(source, fresh, {
      rate: PAGES_A_STEP,
      progress: ({ totalPages, remainingPages }) => onProgress(totalPages - remainingPages, totalPages),
    });
    source.exec("COMMIT");
  } finally {
    source.close();
  }
  checkCopy(fresh);
  sync(fresh);
}

/** Reads the whole copy once, and leaves it as one file. */
function checkCopy(path: string): void {
  const copy = new DatabaseSync(path);
  try {
    const { quick_check: verdict } = copy.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
    if (verdict !== "ok")
      throw new StartError(`The copy ${path} is damaged (${verdict}); the original may be damaged too`);
    copy.exec("PRAGMA journal_mode = DELETE");
  } finally {
    copy.close();
  }
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}

/** A file to be written: its folder and its name. */
interface Destination {
  readonly dir: string;
  readonly name: string;
}

/**
 * Refuses destinations that are files of the running data, or are anywhere in its folders. Files and folders are
 * compared by device and inode, so links are detected. A folder need not exist yet.
 */
export function refuseLiveFiles({ data, entities, metrics }: Folders, destinations: readonly Destination[]): void {
  const folders = [data, entities, metrics];
  const files = [join(entities, "entities.db"), join(entities, "ledger.db"), join(metrics, "metrics.db")];
  for (const { dir, name } of destinations) {
    const around = withParents(dir);
    if (folders.some((folder) => around.some((one) => isSame(folder, one)))) {
      throw new StartError("The folder for the copies must be outside the data folder");
    }
    const path = join(dir, name);
    if (existsSync(path) && files.some((file) => isSame(file, path))) {
      throw new StartError(`${path} is a file of the running data: name another folder for the copies`);
    }
  }
}

/** Returns the folder and its parents; for a missing folder, its existing parents. */
function withParents(dir: string): string[] {
  const up = dirname(dir);
  if (existsSync(dir)) return pathsUp(realpathSync(dir));
  return up === dir ? [] : withParents(up);
}

function pathsUp(path: string): string[] {
  const up = dirname(path);
  return up === path ? [path] : [path, ...pathsUp(up)];
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}
