import { tmpdir } from "node:os";
import type { Stores } from "../../src/stores/stores.js";
import { fastFolder, openTemporaryStores } from "./stores.js";

/**
 * Every port of the embedded engine, in a folder of its own that goes with `close`: in memory where the machine has such a
 * folder and `inMemory` is set, for tests that commit a hundred thousand times.
 */
export async function temporaryStores({ inMemory } = { inMemory: false }): Promise<Stores> {
  const { stores, close } = await openTemporaryStores(undefined, inMemory ? fastFolder : tmpdir());
  return { ...stores, close };
}
