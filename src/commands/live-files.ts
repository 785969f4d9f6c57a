import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { StartError } from "../errors.js";
import type { Folders } from "../stores/sqlite/folder.js";
import { isSameFile } from "./input-file.js";

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
    if (folders.some((folder) => around.some((one) => isSameFile(folder, one)))) {
      throw new StartError("The folder for the copies must be outside the data folder");
    }
    const path = join(dir, name);
    if (existsSync(path) && files.some((file) => isSameFile(file, path))) {
      throw new StartError(`${path} is a file of the running data: name another folder for the copies`);
    }
  }
}

/** Returns the folder and its parents without links; for a missing folder, its existing parents. */
function withParents(dir: string): string[] {
  const path = existsSync(dir) ? realpathSync(dir) : dir;
  const up = dirname(path);
  const parents = up === path ? [] : withParents(up);
  return existsSync(path) ? [path, ...parents] : parents;
}
