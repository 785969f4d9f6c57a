import type { Settings } from "../config/settings.js";
import { StartError } from "../errors.js";
import type {
  Engine,
  EngineDependencies,
  EntityEngine,
  JobEngine,
  MetricEngine,
  OpenKeys,
  Served,
  Stores,
} from "./stores.js";

/** An engine for the URL of a setting. Its driver is loaded only when one of its functions is called. */
interface EngineChoice<E extends Engine> {
  /** Schemes of its URLs, such as `mongodb:`. */
  readonly schemes: readonly string[];
  open(dependencies: EngineDependencies): Promise<E>;
}

interface EntityEngineChoice extends EngineChoice<EntityEngine> {
  openKeys(settings: Settings): Promise<OpenKeys>;
}

/** The engines of ENTITIES_URL. */
const entityEngines: readonly EntityEngineChoice[] = [
  {
    schemes: ["sqlite:"],
    open: async (dependencies) => (await import("./sqlite/index.js")).openSqliteEntities(dependencies),
    openKeys: async (settings) => (await import("./sqlite/index.js")).openSqliteKeys(settings),
  },
  {
    schemes: ["mongodb:", "mongodb+srv:"],
    open: async (dependencies) => (await import("./mongodb/index.js")).openMongo(dependencies),
    openKeys: async (settings) => (await import("./mongodb/index.js")).openMongoKeys(settings),
  },
];

/** The engines of METRICS_URL. */
const metricEngines: readonly EngineChoice<MetricEngine>[] = [
  {
    schemes: ["sqlite:"],
    open: async (dependencies) => (await import("./sqlite/index.js")).openSqliteMetrics(dependencies),
  },
  {
    schemes: ["influxdb:", "influxdbs:"],
    open: async (dependencies) => (await import("./influxdb/index.js")).openInflux(dependencies),
  },
];

/** The engines of JOBS_URL. */
const jobEngines: readonly EngineChoice<JobEngine>[] = [
  {
    schemes: ["sqlite:"],
    open: async () => (await import("./in-process/index.js")).openInProcess(),
  },
  {
    schemes: ["redis:", "rediss:"],
    open: async (dependencies) => (await import("./bullmq/index.js")).openBullmq(dependencies),
  },
];

/** Opens the engines of the URLs. Throws a `StartError` if a URL has no engine, or an engine cannot be used. */
export async function openStores(dependencies: EngineDependencies): Promise<Stores> {
  const { settings } = dependencies;
  const entityEngine = engineOf("entities", entityEngines, settings);
  const metricEngine = engineOf("metrics", metricEngines, settings);
  const jobEngine = engineOf("jobs", jobEngines, settings);
  const open: Engine[] = [];
  const opened = async <E extends Engine>(choice: EngineChoice<E>): Promise<E> => {
    const engine = await choice.open(dependencies);
    open.unshift(engine);
    return engine;
  };
  const close = async () => {
    for (const engine of open.splice(0)) await engine.close();
  };
  try {
    const entities = await opened(entityEngine);
    const metrics = await opened(metricEngine);
    const jobs = await opened(jobEngine);
    const stores = [entities, metrics];
    return {
      ...entities,
      ...metrics,
      ...jobs,
      probes: [...stores, jobs].flatMap(({ probes }) => probes),
      toServiceError: (error) =>
        stores.map((engine) => engine.toServiceError(error)).find((error) => error !== undefined),
      startErrorOf: (error) =>
        stores.map((engine) => engine.startErrorOf?.(error)).find((error) => error !== undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens only the API keys, also while a service runs. */
export async function openKeys(settings: Settings): Promise<OpenKeys> {
  return engineOf("entities", entityEngines, settings).openKeys(settings);
}

/** Returns the engine for the URL of a setting. Throws a `StartError` if there is none. */
function engineOf<C extends EngineChoice<Engine>>(served: Served, engines: readonly C[], settings: Settings): C {
  const found = engines.find(({ schemes }) => schemes.some((scheme) => settings[served].url.startsWith(scheme)));
  if (found !== undefined) return found;
  const allowed = engines.flatMap(({ schemes }) => schemes);
  throw new StartError(`${served.toUpperCase()}_URL has an unknown engine. Allowed: ${allowed.join(", ")}`);
}
