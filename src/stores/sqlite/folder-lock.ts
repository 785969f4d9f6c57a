import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "../../errors.js";
import { DatabaseSync } from "./engine.js";

/**
 * Makes the folder when it is missing and keeps it for this process until the returned function is called or the
 * process ends, however it ends: the lock is one that the operating system holds on an open file. Commands that work
 * beside a running service do not ask for it.
 */
export function lockFolder(dir: string): () => void {
  makeFolder(dir);
  let lock: InstanceType<typeof DatabaseSync> | undefined;
  try {
    lock = new DatabaseSync(join(dir, "lock"));
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

/** Makes a folder, and those above it, for their owner alone, unless it is there. */
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

/** Not `recursive`: that never ends where a file system refuses a name with ENOENT, as /proc does. */
function makeWithParents(dir: string): void {
  if (existsSync(dir)) return;
  if (!existsSync(dirname(dir))) makeWithParents(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
}
