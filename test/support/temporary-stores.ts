import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStores } from "../../src/stores/open-stores.js";
import type { Stores } from "../../src/stores/stores.js";
import { settingsFor } from "./service.js";

const MEMORY = "/dev/shm";

/**
 * Every port of the embedded engine, in a folder of its own that goes with `close`: in memory where the machine has such a
 * folder and `inMemory` is set, for tests that commit a hundred thousand times.
 */
export async function temporaryStores({ inMemory } = { inMemory: false }): Promise<Stores> {
  const dir = mkdtempSync(join(inMemory && existsSync(MEMORY) ? MEMORY : tmpdir(), "entity-metrics-"));
  const stores = await openStores(settingsFor(dir));
  return {
    ...stores,
    async close() {
      await stores.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
