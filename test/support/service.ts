import { type Clock, systemClock } from "../../src/clock.js";
import { compose, type Service } from "../../src/compose.js";
import { defaultSettings } from "../../src/config/schema.js";
import type { Settings } from "../../src/config/settings.js";
import type { SlowTimes } from "../../src/http/edge/slow-clients.js";
import type { KeyBounds, Scope } from "../../src/keys/api-key.js";
import { mintKey } from "../../src/keys/verify-key.js";
import { type Log, openLog } from "../../src/log.js";
import { serviceClock } from "../../src/service-clock.js";
import { dataFolder } from "./data-folder.js";
import { dropFromServers } from "./drop-from-servers.js";
import { endsWithTest } from "./ends-with-test.js";
import { nameOf, onServersOnly, PATIENT, storesOnServers } from "./servers.js";

/** The key with every scope that a service under test accepts. */
export const adminKey = "em_bench_0123456789abcdef0123456789abcdef";

type Deep<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : T[K] extends object ? Deep<T[K]> : T[K];
};

export type Overrides = Deep<Settings>;

/** A whole service in this process, on a free port, with a data folder or a name on the servers of its own. */
export interface TestService {
  readonly url: string;
  readonly port: number;
  readonly key: string;
  readonly dir: string;
  readonly service: Service;
  /** `fetch` of a path of the service, with the key unless `init` names another `Authorization` (null: none). */
  fetch(path: string, init?: FetchOptions): Promise<Response>;
  /** Ends the service; its data goes too, unless `keep` is set. */
  stop(options?: { keep: boolean }): Promise<void>;
}

export interface FetchOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly key?: string | null;
  readonly redirect?: "manual" | "follow";
  readonly signal?: AbortSignal;
}

export interface StartOptions {
  /** The time of its world: the servers', too. */
  readonly clock?: Clock;
  /** The clock of its machine, which is compared with the servers' clock. */
  readonly machine?: Clock;
  /** See `compose`. */
  readonly recorderTickMs?: number;
  readonly wrongKeysPerMinute?: number;
  readonly slowTimes?: SlowTimes;
  /** Opens the data of an earlier service, in the folder or on the servers. */
  readonly dir?: string;
  readonly log?: Log;
  /** Whether its data is on the three servers; by default the whole run decides. */
  readonly onServers?: boolean;
}

/** Starts a service; one that a test has started stops after it. */
export async function startService(overrides: Overrides = {}, options: StartOptions = {}): Promise<TestService> {
  const dir = options.dir ?? dataFolder();
  const { onServers = storesOnServers } = options;
  const stored = { ...(onServers ? onServersOnly(nameOf(dir)) : {}), ...(storesOnServers ? PATIENT : {}) };
  const settings = settingsFor(dir, merge(stored, overrides));
  const { machine = systemClock, log = openLog("silent") } = options;
  const own = serviceClock(machine);
  const service = await compose(settings, { ...own, now: options.clock ?? own.now }, log, options);
  const url = await service.listen().catch(async (error: unknown) => {
    await service.stop();
    throw error;
  });
  let keeps = false;
  const stop = endsWithTest(async () => {
    await service.stop();
    if (onServers && !keeps) await dropFromServers(nameOf(dir));
  });
  return {
    url,
    port: Number(new URL(url).port),
    key: adminKey,
    dir,
    service,
    fetch: (path, { json, key = adminKey, headers = {}, ...init } = {}) =>
      fetch(`${url}${path}`, {
        ...init,
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        headers: {
          ...(key === null ? {} : { authorization: key }),
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
      }),
    stop({ keep } = { keep: false }) {
      keeps = keep;
      return stop();
    },
  };
}

/** A service that starts before the tests of a suite and stops after them. */
export function serviceOfSuite(overrides: Overrides = {}, options: StartOptions = {}): TestService {
  let running: TestService;
  before(async () => {
    running = await startService(overrides, options);
  });
  after(() => running.stop());
  return new Proxy({} as TestService, { get: (_, name) => Reflect.get(running, name) });
}

/** A service that starts before each test of a suite and stops after it. */
export function serviceOfEachTest(overrides: Overrides = {}, options: StartOptions = {}): TestService {
  let running: TestService;
  beforeEach(async () => {
    running = await startService(overrides, options);
  });
  return new Proxy({} as TestService, { get: (_, name) => Reflect.get(running, name) });
}

/** Stores a new API key with these scopes; returns it with its id. */
export async function newKey(
  { service }: TestService,
  wanted: readonly Scope[],
  now = Date.now(),
  bounds: KeyBounds = {},
) {
  const { key, stored } = mintKey("a test", wanted, now, bounds);
  await service.stores.keys.add(stored);
  return { key, id: stored.id };
}

/** The shipped settings on a free port of this machine, with data in `dir`. */
export function settingsFor(dir: string, overrides: Overrides = {}): Settings {
  const own = { http: { host: "127.0.0.1", port: 0 }, data_dir: dir, admin_key: adminKey, log: { level: "silent" } };
  return merge(merge(defaultSettings(), own), overrides) as unknown as Settings;
}

function merge(under: object, over: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    const nested = isRecord(value) && isRecord(below);
    merged[name] = nested ? merge(below, value) : value;
  }
  return merged;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
