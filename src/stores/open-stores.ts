import type { Settings } from "../config.js";
import { StartError } from "../errors.js";
import type { Failpoint } from "../failpoint.js";
import type { KeyStore } from "../keys/key-store.js";
import type { Stores } from "./stores.js";

/** Opens the engines that the URLs name. Each engine is loaded only when a URL asks for it. */
export async function openStores(settings: Settings, failpoint?: Failpoint): Promise<Stores> {
  refuseServers(settings);
  const { openSqlite } = await import("./sqlite/index.js");
  return openSqlite(settings, failpoint);
}

/** Opens the API keys alone, also beside a running service. */
export async function openKeys(settings: Settings): Promise<{ keys: KeyStore; close(): Promise<void> }> {
  refuseServers(settings);
  const { openSqliteKeys } = await import("./sqlite/index.js");
  return openSqliteKeys(settings);
}

function refuseServers(settings: Settings): void {
  for (const [name, { url }] of Object.entries({
    ENTITIES_URL: settings.entities,
    METRICS_URL: settings.metrics,
    JOBS_URL: settings.jobs,
  })) {
    if (!url.startsWith("sqlite:"))
      throw new StartError(`${name} asks for another engine than sqlite:, the only one that this version serves`);
  }
}
