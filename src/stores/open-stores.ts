import type { Settings } from "../config.js";
import { StartError } from "../errors.js";
import type { KeyStore } from "../keys/api-key.js";
import type { ProfileTarget, SeriesTarget } from "./copy.js";
import type { LockedFolder } from "./sqlite/export.js";
import type { Engine, EntityEngine, JobEngine, MetricEngine, OpenParts, Stores } from "./stores.js";

/** Opens the engines that the URLs name. Each engine is loaded only when a URL asks for it. */
export async function openStores(parts: OpenParts): Promise<Stores> {
  const open: Engine[] = [];
  const opened = <E extends Engine>(engine: E): E => {
    open.unshift(engine);
    return engine;
  };
  const close = async () => {
    for (const engine of open.splice(0)) await engine.close();
  };
  try {
    const entities = opened(await openEntities(parts));
    const metrics = opened(await openMetrics(parts));
    const jobs = opened(await openJobs(parts));
    const engines = [entities, metrics, jobs];
    return {
      ...entities,
      ...metrics,
      ...jobs,
      probes: engines.flatMap(({ probes }) => probes),
      serviceErrorOf: (error) =>
        engines.map((engine) => engine.serviceErrorOf(error)).find((error) => error !== undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the API keys alone, also beside a running service. */
export async function openKeys(settings: Settings): Promise<{ keys: KeyStore; close(): Promise<void> }> {
  const engine = engineOf("ENTITIES_URL", settings.entities.url, ["sqlite", "mongodb"]);
  if (engine === "mongodb") return (await import("./mongodb/index.js")).openMongoKeys(settings);
  return (await import("./sqlite/index.js")).openSqliteKeys(settings);
}

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

async function openEntities(parts: OpenParts): Promise<EntityEngine> {
  const engine = engineOf("ENTITIES_URL", parts.settings.entities.url, ["sqlite", "mongodb"]);
  if (engine === "mongodb") return (await import("./mongodb/index.js")).openMongo(parts);
  return (await import("./sqlite/index.js")).openSqliteEntities(parts);
}

async function openMetrics(parts: OpenParts): Promise<MetricEngine> {
  const engine = engineOf("METRICS_URL", parts.settings.metrics.url, ["sqlite", "influxdb"]);
  if (engine === "influxdb") return (await import("./influxdb/index.js")).openInflux(parts);
  return (await import("./sqlite/index.js")).openSqliteMetrics(parts.settings);
}

async function openJobs(parts: OpenParts): Promise<JobEngine> {
  const engine = engineOf("JOBS_URL", parts.settings.jobs.url, ["sqlite", "redis"]);
  if (engine === "redis") return (await import("./bullmq/index.js")).openBullmq(parts);
  return (await import("./in-process/index.js")).openInProcess();
}

/** Schemes of URLs, by the engine that they name. */
const schemes: Readonly<Record<string, readonly string[]>> = {
  sqlite: ["sqlite:"],
  mongodb: ["mongodb:", "mongodb+srv:"],
  influxdb: ["influxdb:", "influxdbs:"],
  redis: ["redis:", "rediss:"],
};

function engineOf<E extends string>(name: string, url: string, engines: readonly E[]): E {
  const found = engines.find((engine) => schemes[engine]?.some((scheme) => url.startsWith(scheme)));
  if (found !== undefined) return found;
  const allowed = engines.flatMap((engine) => schemes[engine] ?? []);
  throw new StartError(`${name} asks for an engine that there is not. Allowed: ${allowed.join(", ")}`);
}
