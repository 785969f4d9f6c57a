import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/clock.js";
import type { Failpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import { openStores } from "../../src/stores/open-stores.js";
import type { Stores } from "../../src/stores/stores.js";
import { dropFromServers } from "./drop-from-servers.js";
import { nameOf, onServersOnly, PATIENT, storesOnServers } from "./servers.js";
import { settingsFor } from "./service.js";

/** A folder for many writes: where the disk is not waited for, if there is such a place. */
export const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** Every port over stores of its own: the embedded engine in a folder, or the three servers. */
export interface OpenStores {
  readonly stores: Stores;
  readonly dir: string;
  /** Closes the stores and removes what lies in them. */
  close(): Promise<void>;
}

/** Stores of their own in a new folder, which `close` removes. `temporaryStores` hands out the stores alone. */
export async function openTemporaryStores(failpoint?: Failpoint, under = tmpdir()): Promise<OpenStores> {
  const { stores, dir, close } = await storesOf(mkdtempSync(join(under, "entity-metrics-")), failpoint);
  return {
    stores,
    dir,
    async close() {
      await close();
      rmSync(dir, { recursive: true, force: true });
      if (storesOnServers) await dropFromServers(nameOf(dir));
    },
  };
}

/** Every port over the stores of a folder, or of its name on the servers; what lies in them stays after `close`. */
export async function storesOf(
  dir: string,
  failpoint?: Failpoint,
  onServers: boolean = storesOnServers,
): Promise<OpenStores> {
  const settings = settingsFor(dir, onServers ? { ...onServersOnly(nameOf(dir)), ...PATIENT } : {});
  const stores = await openStores({ settings, log: openLog("silent"), clock: systemClock, failpoint });
  return { stores, dir, close: () => stores.close() };
}
