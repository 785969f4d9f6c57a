import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "../../errors.js";
import { deletionWatermark } from "../database-facts.js";
import { backup, type Database, DatabaseSync, reasonOf } from "./connection.js";
import { factsOf } from "./database-facts.js";
import { settledSequence } from "./deletions/ledger-match.js";

/** Pages copied before other work runs. */
const PAGES_A_STEP = 1000;

/** Maximum wait while another process locks a file, ms. */
const WAIT_MS = 10_000;

/** Name of a copy that is not complete yet. */
const partOf = (to: string) => `${to}.partial`;

type OnProgress = (done: number, pages: number) => void;

/** Changes a copy before it is complete. */
type Change = (copy: Database) => Promise<void>;

const noChange: Change = async () => {};

/**
 * Copies a database in its current state while this or another process writes to it. The copy is checked, durable, and
 * renamed to `to` when complete; it replaces an older one. A failure leaves nothing behind.
 */
export async function copyDatabase(from: string, to: string, onProgress: OnProgress, change = noChange): Promise<void> {
  if (!existsSync(from)) throw new StartError(`${from} does not exist: there is nothing to copy`);
  removePart(to);
  try {
    await copyInto(partOf(to), from, onProgress);
    await finishCopy(partOf(to), change);
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

/**
 * Copies `entities.db`. The copy has a note of the deletions that were complete before it, so that it can be restored
 * after the ledger has forgotten them. A running service writes this note seconds later.
 */
export async function copyEntities(from: string, to: string, onProgress: OnProgress): Promise<void> {
  const settled = settledIn(join(dirname(from), "ledger.db"));
  await copyDatabase(from, to, onProgress, (copy) => deletionWatermark(factsOf(copy)).write(settled));
}

/** Returns the `settledSequence` of a ledger; 0 without a file, which the copy of the ledger reports. */
function settledIn(path: string): number {
  if (!existsSync(path)) return 0;
  const ledger = new DatabaseSync(path, { timeout: WAIT_MS });
  try {
    return settledSequence(ledger);
  } catch (error) {
    throw new StartError(`${path} cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    ledger.close();
  }
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

/** Reads the whole copy once, changes it, and leaves it as one durable file. */
async function finishCopy(path: string, change: Change): Promise<void> {
  const copy = new DatabaseSync(path);
  try {
    const { quick_check: verdict } = copy.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
    if (verdict !== "ok")
      throw new StartError(`The copy ${path} is damaged (${verdict}); the original may be damaged too`);
    await change(copy);
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
