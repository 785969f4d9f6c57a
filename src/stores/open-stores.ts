import type { Settings } from "../config/settings.js";
import { StartError } from "../errors.js";
import { bullmq } from "./bullmq/engine.js";
import type { ProfileTarget, SeriesTarget } from "./copy.js";
import { inProcess } from "./in-process/index.js";
import { influxdb } from "./influxdb/engine.js";
import { mongodb } from "./mongodb/engine.js";
import { sqlite } from "./sqlite/engine.js";
import type { Engine, EngineDependencies, EngineDescription, OpenKeys, OpenTarget, Served, Stores } from "./stores.js";

/** Every engine. The first one that serves a setting and has the scheme of its URL is opened. */
const all: readonly EngineDescription[] = [sqlite, inProcess, mongodb, influxdb, bullmq];

/** Opens the engines of the URLs. Throws a `StartError` if a URL has no engine, or an engine cannot be used. */
export async function openStores(dependencies: EngineDependencies): Promise<Stores> {
  const found = {
    entities: engineOf("entities", dependencies.settings),
    metrics: engineOf("metrics", dependencies.settings),
    jobs: engineOf("jobs", dependencies.settings),
  };
  const open: Engine[] = [];
  const opened = <E extends Engine>(engine: E): E => {
    open.unshift(engine);
    return engine;
  };
  const close = async () => {
    for (const engine of open.splice(0)) await engine.close();
  };
  try {
    const entities = opened(await found.entities.entities.open(dependencies));
    const metrics = opened(await found.metrics.metrics.open(dependencies));
    const jobs = opened(await found.jobs.jobs.open(dependencies));
    const engines = [entities, metrics, jobs];
    return {
      ...entities,
      ...metrics,
      ...jobs,
      exclusive: {
        entities: found.entities.exclusive,
        metrics: found.metrics.exclusive,
        jobs: found.jobs.exclusive,
      },
      probes: engines.flatMap(({ probes }) => probes),
      toServiceError: (error) =>
        engines.map((engine) => engine.toServiceError(error)).find((error) => error !== undefined),
      startErrorOf: (error) =>
        engines.map((engine) => engine.startErrorOf?.(error)).find((error) => error !== undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens only the API keys, also while a service runs. */
export function openKeys(settings: Settings): Promise<OpenKeys> {
  return engineOf("entities", settings).entities.openKeys(settings);
}

/** Opens the engine of a URL for a copy of profiles; undefined if it does not support that. */
export function profileTargetAt(url: string): OpenTarget<ProfileTarget> | undefined {
  return all.filter((engine) => isNamedBy(url, engine)).flatMap(({ entities }) => entities?.openTarget ?? [])[0];
}

/** Opens the engine of a URL for a copy of series; undefined if it does not support that. */
export function seriesTargetAt(url: string): OpenTarget<SeriesTarget> | undefined {
  return all.filter((engine) => isNamedBy(url, engine)).flatMap(({ metrics }) => metrics?.openTarget ?? [])[0];
}

/** Returns the engine for the URL of a setting. Throws a `StartError` if there is none. */
function engineOf<S extends Served>(served: S, settings: Settings): Serving<S> {
  const { url } = settings[served];
  const serving = all.filter((engine): engine is Serving<S> => engine[served] !== undefined);
  const found = serving.find((engine) => isNamedBy(url, engine));
  if (found !== undefined) return found;
  const allowed = serving.flatMap(({ schemes }) => schemes);
  throw new StartError(`${served.toUpperCase()}_URL has an unknown engine. Allowed: ${allowed.join(", ")}`);
}

type Serving<S extends Served> = EngineDescription & Required<Pick<EngineDescription, S>>;

function isNamedBy(url: string, { schemes }: EngineDescription): boolean {
  return schemes.some((scheme) => url.startsWith(scheme));
}
