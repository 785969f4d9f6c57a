import { statSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../errors.js";
import type { Folders } from "./folders.js";

/** A file that is about to be written: its folder and its name. */
export interface Destination {
  readonly dir: string;
  readonly name: string;
}

/**
 * Refuses destinations that are files of the running data, or lie in its folders, by whatever path or link they are reached:
 * files and folders are told apart by device and inode.
 */
export function refuseLiveFiles({ data, entities, metrics }: Folders, destinations: readonly Destination[]): void {
  const folders = [data, entities, metrics];
  const files = [join(entities, "entities.db"), join(entities, "ledger.db"), join(metrics, "metrics.db")];
  for (const { dir, name } of destinations) {
    if (folders.some((folder) => isSame(folder, dir))) {
      throw new StartError("The folder for the copies must be another than that of the data");
    }
    const path = join(dir, name);
    if (files.some((file) => isSame(file, path))) {
      throw new StartError(`${path} is a file of the running data: name another folder for the copies`);
    }
  }
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return one !== undefined && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}
