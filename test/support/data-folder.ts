import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];
process.once("exit", () => {
  for (const dir of folders) rmSync(dir, { recursive: true, force: true });
});

/** Creates a folder for the data of tests, which is removed when their process ends. */
export function dataFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  folders.push(dir);
  return dir;
}
