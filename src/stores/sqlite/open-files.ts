import { StartError } from "../../errors.js";
import { closeDatabase, type Database, isDamage, refuseDamaged } from "./connection.js";
import { type LockName, lockFolder } from "./folder.js";
import { type FileLayout, type OpenOptions, openDatabase } from "./open-database.js";

/** Files and folders that were opened together and are closed together. */
export class OpenFiles {
  readonly #open: Database[] = [];
  readonly #unlock: (() => void)[] = [];

  lock(name: LockName, ...folders: string[]): void {
    for (const folder of new Set(folders)) this.#unlock.push(lockFolder(folder, name));
  }

  open(dir: string, layout: FileLayout, options: Omit<OpenOptions, "isShared"> = {}): Database {
    const db = openDatabase(dir, layout, options);
    this.#open.push(db);
    return db;
  }

  /** Returns an error that names the damaged file, if damage is the cause of `error`. Reads all files. */
  startErrorOf(error: unknown): StartError | undefined {
    if (!isDamage(error)) return undefined;
    try {
      for (const db of this.#open) refuseDamaged(db);
    } catch (damaged) {
      if (damaged instanceof StartError) return damaged;
    }
    return undefined;
  }

  close(): void {
    for (const db of this.#open.splice(0)) closeDatabase(db);
    for (const release of this.#unlock.splice(0)) release();
  }
}
