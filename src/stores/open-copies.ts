import type { ProfileTarget, SeriesTarget } from "./copy.js";
import type { LockedFolder } from "./sqlite/export.js";
import type { OpenParts } from "./stores.js";

/** Keeps an embedded folder from being used, to copy it. */
export async function lockSource(dir: string): Promise<LockedFolder> {
  return (await import("./sqlite/export.js")).lockSource(dir);
}

/** Opens the server that ENTITIES_URL names, to be filled. */
export async function openProfileTarget(parts: OpenParts): Promise<ProfileTarget> {
  return (await import("./mongodb/import.js")).openMongoImport(parts);
}

/** Opens the server that METRICS_URL names, to be filled. */
export async function openSeriesTarget(parts: OpenParts): Promise<SeriesTarget> {
  return (await import("./influxdb/import.js")).openInfluxImport(parts);
}
