import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Settings } from "../../config/settings.js";
import { StartError } from "../../errors.js";
import { DatabaseSync } from "./connection.js";

/** Absolute folders of the embedded engine. */
export interface Folders {
  /** Folder of the pepper. */
  readonly data: string;
  /** Folder of `ledger.db` and `entities.db`. */
  readonly entities: string;
  /** Folder of `metrics.db`. */
  readonly metrics: string;
}

/**
 * Returns the folders of the settings: `sqlite:/path` is that folder; `sqlite:` and the URL of another engine mean
 * `data_dir`.
 */
export function foldersOf(settings: Pick<Settings, "data_dir" | "entities" | "metrics">): Folders {
  const data = resolve(settings.data_dir);
  const folderOf = (url: string) => (/^sqlite:./.test(url) ? resolve(url.slice("sqlite:".length)) : data);
  return { data, entities: folderOf(settings.entities.url), metrics: folderOf(settings.metrics.url) };
}

/**
 * Purpose of a lock: `entities` for profiles, ledger and pepper, `metrics` for series. One folder may have both locks.
 */
export type LockName = keyof typeof lockFiles;

const lockFiles = { entities: "lock", metrics: "metrics.lock" } as const;

/**
 * Creates the folder if it is missing and locks it until the returned function is called or the process ends, even by a
 * crash: the operating system holds the lock on an open file. Commands that run next to a service do not lock it.
 * Throws a `StartError`.
 */
export function lockFolder(dir: string, name: LockName): () => void {
  makeFolder(dir);
  let lock: InstanceType<typeof DatabaseSync> | undefined;
  try {
    lock = new DatabaseSync(join(dir, lockFiles[name]));
    const held = lock;
    held.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return () => held.close();
  } catch (error) {
    lock?.close();
    const busy = error instanceof Error && /locked|busy/i.test(error.message);
    throw new StartError(
      busy
        ? `Another entity-metrics service is running on ${dir}: stop it first, or give this one another DATA_DIR`
        : `The folder ${dir} cannot be written to`,
      { cause: error },
    );
  }
}

/** Creates a folder and its parents, if missing, with access for their owner only. Throws a `StartError`. */
export function makeFolder(dir: string): void {
  try {
    makeWithParents(dir);
  } catch (error) {
    throw new StartError(`The folder ${dir} cannot be made (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    });
  }
  if (!statSync(dir).isDirectory()) throw new StartError(`${dir} is not a folder`);
}

/** Not `recursive`: it never ends if a file system refuses a name with ENOENT, as /proc does. */
function makeWithParents(dir: string): void {
  if (existsSync(dir)) return;
  if (!existsSync(dirname(dir))) makeWithParents(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
}
