import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { StartError } from "../../errors.js";
import { backup, DatabaseSync, reasonOf } from "./connection.js";

/** Pages copied before other work runs. */
const PAGES_A_STEP = 1000;

/** Maximum wait while another process locks a file, ms. */
const WAIT_MS = 10_000;

/** Name of a copy that is not complete yet. */
const partOf = (to: string) => `${to}.partial`;

type OnProgress = (done: number, pages: number) => void;

/**
 * Copies a database in its current state while this or another process writes to it. The copy is checked, durable, and
 * renamed to `to` when complete; it replaces an older one. A failure leaves nothing behind.
 */
export async function copyDatabase(from: string, to: string, onProgress: OnProgress): Promise<void> {
  if (!existsSync(from)) throw new StartError(`${from} does not exist: there is nothing to copy`);
  removePart(to);
  try {
    await copyInto(partOf(to), from, onProgress);
    finishCopy(partOf(to));
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

async function copyInto(fresh: string, from: string, onProgress: OnProgress): Promise<void> {
  const source = new DatabaseSync(from, { timeout: WAIT_MS });
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
}

/** Reads the whole copy once, and leaves it as one durable file. */
function finishCopy(path: string): void {
  const copy = new DatabaseSync(path);
  try {
    const { quick_check: verdict } = copy.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
    if (verdict !== "ok")
      throw new StartError(`The copy ${path} is damaged (${verdict}); the original may be damaged too`);
    copy.exec("PRAGMA journal_mode = DELETE");
  } finally {
    copy.close();
  }
  sync(path);
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}
