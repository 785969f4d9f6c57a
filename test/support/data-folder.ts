import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a folder for the data of a test. `npm test` removes the folders that its tests leave. */
export function dataFolder(): string {
  return mkdtempSync(join(tmpdir(), "entity-metrics-"));
}
