import { existsSync, mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Free bytes in memory from which on folders are created there. */
const ENOUGH_BYTES = 2e9;

/** Creates a folder for the data of a test, in memory where there is room: no test waits for a disk to sync. */
export function dataFolder(): string {
  return mkdtempSync(join(hasRoom("/dev/shm") ? "/dev/shm" : tmpdir(), "entity-metrics-"));
}

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > ENOUGH_BYTES;
}
