import { systemClock } from "../../src/clock.js";
import type { Failpoint } from "../../src/failpoint.js";
import { openLog } from "../../src/log.js";
import { openStores } from "../../src/stores/open-stores.js";
import type { Stores } from "../../src/stores/stores.js";
import { dataFolder } from "./data-folder.js";
import { dropFromServers } from "./drop-from-servers.js";
import { endsWithTest } from "./ends-with-test.js";
import { nameOf, onServersOnly, PATIENT, storesOnServers } from "./servers.js";
import { settingsFor } from "./service.js";

/** Every port over stores of its own: the embedded engine in a folder, or the three servers. */
export interface OpenStores {
  readonly stores: Stores;
  readonly dir: string;
  /** Closes the stores and removes their data. */
  close(): Promise<void>;
}

/** Opens stores in a new folder. Stores that a test has opened are closed after it. */
export async function openTemporaryStores(failpoint?: Failpoint): Promise<OpenStores> {
  const { stores, dir, close } = await storesOf(dataFolder(), failpoint);
  return {
    stores,
    dir,
    close: endsWithTest(async () => {
      await close();
      if (storesOnServers) await dropFromServers(nameOf(dir));
    }),
  };
}

/** The ports alone. */
export async function temporaryStores(): Promise<Stores> {
  const { stores, close } = await openTemporaryStores();
  return { ...stores, close };
}

/** Opens the stores of a folder, or of its name on the servers; `close` leaves their data. */
export async function storesOf(
  dir: string,
  failpoint?: Failpoint,
  onServers: boolean = storesOnServers,
): Promise<OpenStores> {
  const settings = settingsFor(dir, onServers ? { ...onServersOnly(nameOf(dir)), ...PATIENT } : {});
  const stores = await openStores({ settings, log: openLog("silent"), clock: systemClock, failpoint });
  return { stores, dir, close: endsWithTest(() => stores.close()) };
}
