import type { Settings } from "../config.js";
import { ServiceError } from "../errors.js";
import type { Stores } from "./stores.js";

/** Opens the engines that the URLs name. Each engine is loaded only when a URL asks for it. */
export async function openStores(settings: Settings): Promise<Stores> {
  for (const { url } of [settings.entities, settings.metrics, settings.jobs]) {
    if (!url.startsWith("sqlite:")) throw new ServiceError("invalid", "Only sqlite: is served by this version");
  }
  const { openSqlite } = await import("./sqlite/index.js");
  return openSqlite(settings);
}
