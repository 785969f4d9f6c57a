import type { Server } from "node:http";
import { createRequire } from "node:module";
import { retryStart } from "./async/retry-start.js";
import { CacheMemory } from "./cache-memory.js";
import { monotonicClock } from "./clock.js";
import { composeDeletions } from "./compose/deletions.js";
import { composeHooks } from "./compose/hooks.js";
import { composeProfiles } from "./compose/profiles.js";
import { composeRecorder } from "./compose/recorder.js";
import { composeRules } from "./compose/rules.js";
import { composeSeries } from "./compose/series.js";
import { readJson, type Settings } from "./config/settings.js";
import { type Tables, tablesOf } from "./entities/profile/entity-tables.js";
import { enforceRetention } from "./entities/retention.js";
import { type Failpoint, noFailpoint } from "./failpoint.js";
import { retentionMs } from "./formats/duration.js";
import { experienceRoutes } from "./http/catalogue/experiences.js";
import { markRoutes } from "./http/catalogue/marks.js";
import { segmentRoutes } from "./http/catalogue/segments.js";
import type { Route } from "./http/core/route.js";
import { deletionWebhook } from "./http/deletions/webhook.js";
import type { SlowTimes } from "./http/edge/slow-clients.js";
import { hookWebhook } from "./http/hooks/index.js";
import { alertWebhook } from "./http/metrics/alerts.js";
import { keyRoutes, operationRoutes } from "./http/operations/index.js";
import { pageRoutes } from "./http/pages/index.js";
import { signInRoutes } from "./http/pages/sign-in.js";
import { openServer } from "./http/server.js";
import { SignInCodes } from "./keys/sign-in-codes.js";
import { keyVerifier } from "./keys/verify-key.js";
import type { Log } from "./log.js";
import { MemoryBudget } from "./memory-budget.js";
import { openMeters } from "./meters.js";
import type { ServiceClock } from "./service-clock.js";
import { openStores } from "./stores/open-stores.js";
import type { Stores } from "./stores/stores.js";

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const shippedTables = new URL("../config/tables.json", import.meta.url);

/** Returns the tables of the settings. Throws a `StartError`. */
export function configuredTables({ tables_file }: Pick<Settings, "tables_file">): Tables {
  return tablesOf(readJson("TABLES_FILE", tables_file ?? shippedTables));
}

/** A running service. */
export interface Service {
  readonly stores: Stores;
  readonly server: Server;
  readonly routes: readonly Route[];
  readonly signInCodes: Pick<SignInCodes, "issue">;
  /** Opens the port; the address is a URL without a path. */
  listen(): Promise<string>;
  /** Lets requests in progress finish, then closes everything. */
  stop(): Promise<void>;
}

/** Values that only tests change. */
interface ComposeOptions {
  readonly failpoint?: Failpoint;
  /** ms between two checks for due slots. */
  readonly recorderTickMs?: number;
  /** Requests with an invalid key per address and minute; one more is 429. */
  readonly wrongKeysPerMinute?: number;
  readonly slowTimes?: SlowTimes;
}

/** Connects all parts: with `compose/` the only code that imports every part. Each part gets only what it names. */
export async function compose(
  settings: Settings,
  serviceClock: ServiceClock,
  log: Log,
  {
    failpoint = noFailpoint,
    recorderTickMs = 1_000,
    wrongKeysPerMinute = 20,
    slowTimes = { senderMs: 15_000, readerMs: 30_000 },
  }: ComposeOptions = {},
): Promise<Service> {
  const { roles, limits } = settings;
  const { now: clock } = serviceClock;
  const cache = new CacheMemory(settings.cache.bytes);
  const stores = await openStores({ settings, log, clock, failpoint, cache });
  const followed = stores.serverTime && serviceClock.follow(stores.serverTime);
  const meters = openMeters();
  const tables = configuredTables(settings);
  const arrivalClock = monotonicClock(clock);
  const memory = new MemoryBudget(limits.read_bytes);
  meters.gauge("metric_read_bytes", "Estimated memory of reads, bodies and unsent responses.", () => memory.reserved);

  const shared = { settings, stores, clock, arrivalClock, memory, cache, version, tables, meters, log, failpoint };
  const series = composeSeries(shared);
  const profiles = composeProfiles(shared);
  const deletions = composeDeletions(shared, profiles);
  const hooks = composeHooks(shared, profiles, deletions.calls);
  const rules = composeRules(shared, profiles.deciding, recorderTickMs);
  const recorder = composeRecorder(shared, series, deletions.webhook, recorderTickMs);

  const signInCodes = new SignInCodes(clock);
  const { catalogue, marks, memberships } = stores;
  const listed = { catalogue, newest: series.newest, clock };
  const served = [
    ...series.routes,
    ...segmentRoutes({ ...listed, progress: rules.progress, members: memberships, tables }),
    ...experienceRoutes(listed),
    ...markRoutes({ marks, clock }),
    ...deletions.routes,
    ...hooks.routes,
    ...profiles.routes,
    ...keyRoutes(),
    ...pageRoutes(tables),
    ...signInRoutes(signInCodes),
  ];
  // A worker process serves only its health and metrics.
  const routes: Route[] = roles.includes("api") ? served : [];
  const probes = followed === undefined ? stores.probes : [...stores.probes, followed.probe];
  const webhooks = [deletionWebhook, alertWebhook, hookWebhook];
  routes.push(...operationRoutes({ probes, meters, version, roles, routes: () => routes, webhooks }));
  const { history, keys, toServiceError } = stores;
  const verify = keyVerifier(keys, settings.admin_key, clock, cache);
  const service = { routes, settings, memory, verify, keys, clock, log, meters, toServiceError };
  const port = openServer({ ...service, wrongKeysPerMinute, slowTimes });
  const background: { stop(): Promise<void> }[] = [];
  const isUnavailable = (error: unknown) => toServiceError(error)?.kind === "unavailable";
  const reportDamage = (error: unknown) => {
    throw stores.startErrorOf?.(error) ?? error;
  };
  // A service starts without this check, as its profiles are the same: the next start repeats it.
  const logFailure = (error: unknown) => {
    const isFull = toServiceError(error)?.kind === "out-of-space";
    const err = isFull ? error : stores.startErrorOf?.(error);
    if (err === undefined) throw error;
    log.error({ err }, "the identities of stored profiles could not be checked; the next start checks them");
  };

  return {
    stores,
    server: port.server,
    routes,
    signInCodes,
    async listen() {
      if (followed !== undefined) background.push(await followed.watch(log));
      await retryStart(() => deletions.replay().catch(reportDamage), isUnavailable, log);
      await retryStart(() => profiles.checkIdentities().catch(logFailure), isUnavailable, log);
      const address = await port.listen();
      const retention = retentionMs(settings.history.retention);
      const idempotency = [stores.idempotency, stores.repeatedDeletions];
      background.push(enforceRetention({ history, idempotency, catalogue, arrivalClock, retentionMs: retention, log }));
      if (roles.includes("worker")) {
        deletions.start();
        hooks.start();
        background.push(...(await recorder.start()), rules.start());
      }
      return address;
    },
    async stop() {
      await port.stop();
      for (const task of background.reverse()) await task.stop();
      await deletions.stop();
      await hooks.stop();
      series.close();
      await stores.close();
    },
  };
}
