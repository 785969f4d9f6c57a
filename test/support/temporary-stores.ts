import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStores } from "../../src/stores/open-stores.js";
import type { Stores } from "../../src/stores/stores.js";
import { settingsFor } from "./service.js";

/** Every port of the embedded engine, in a folder of its own that goes with `close`. */
export async function temporaryStores(): Promise<Stores> {
  const dir = mkdtempSync(join(tmpdir(), "entity-metrics-"));
  const stores = await openStores(settingsFor(dir));
  return {
    ...stores,
    async close() {
      await stores.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
