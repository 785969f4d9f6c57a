import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import { retryStart } from "./async/retry-start.js";
import { YieldBudget } from "./async/yielding.js";
import { CacheMemory } from "./cache-memory.js";
import { audienceCounts } from "./catalogue/audience-counts.js";
import { listOrders } from "./catalogue/list-orders.js";
import { firstSegmentIds, segmentNames } from "./catalogue/segments.js";
import { type Clock, monotonicClock } from "./clock.js";
import { readJson, type Settings } from "./config/settings.js";
import { completedByMonth } from "./deletions/completed-by-month.js";
import { observeDeletions } from "./deletions/observe.js";
import { receipts } from "./deletions/receipt.js";
import { replayLedger } from "./deletions/replay.js";
import { scheduler } from "./deletions/scheduler.js";
import { downstreamTargets } from "./deletions/targets/index.js";
import { webhookAt } from "./deletions/webhook.js";
import { checkMessages, collectMessages } from "./entities/collect/collect-messages.js";
import { type Tables, tablesOf } from "./entities/profile/entity-tables.js";
import { type HashIdentity, identityHashing } from "./entities/profile/identity.js";
import type { OpeningDependencies } from "./entities/read/open-profile.js";
import { type HashRequest, requestHashing } from "./entities/requests/repeatable-run.js";
import { enforceRetention } from "./entities/retention.js";
import { type Failpoint, noFailpoint } from "./failpoint.js";
import { durationMs, retentionMs, shorterOf } from "./formats/duration.js";
import { catalogueRoutes } from "./http/catalogue/index.js";
import { collectRoutes } from "./http/collect/index.js";
import type { BodyDependencies } from "./http/core/body.js";
import type { Route } from "./http/core/route.js";
import { deletionRoutes } from "./http/deletions/index.js";
import { deletionWebhook } from "./http/deletions/webhook.js";
import { entityRoutes } from "./http/entities/index.js";
import { metricRoutes } from "./http/metrics/index.js";
import { listingRoutes } from "./http/metrics/listings.js";
import { keyRoutes, operationRoutes } from "./http/operations/index.js";
import { pageRoutes } from "./http/pages/index.js";
import { signInRoutes } from "./http/pages/sign-in.js";
import { pointRoutes } from "./http/points/index.js";
import { openServer } from "./http/server.js";
import { clusteredIds } from "./ids.js";
import { SignInCodes } from "./keys/sign-in-codes.js";
import { keyVerifier } from "./keys/verify-key.js";
import type { Log } from "./log.js";
import { MemoryBudget } from "./memory-budget.js";
import { type Meters, openMeters } from "./meters.js";
import { Generations } from "./metrics/cache/generations.js";
import { sharedInvalidation } from "./metrics/cache/shared-invalidation.js";
import { SlotCache } from "./metrics/cache/slot-cache.js";
import { uncachedSlots } from "./metrics/cache/uncached-slots.js";
import { type Dimension, dimensions } from "./metrics/dimensions.js";
import { streamList } from "./metrics/list-streams.js";
import { fetchBatch, seriesCounters } from "./metrics/query/fetch.js";
import { newestValues } from "./metrics/query/newest-values.js";
import { readPlans } from "./metrics/query/read-plans.js";
import { slotSums } from "./metrics/query/slot-sums.js";
import { countMissed } from "./metrics/recorder/record-sizes.js";
import { createRecorder, runRecorder, watchRecorder } from "./metrics/recorder/recorder.js";
import { keptColumns } from "./metrics/slot-columns.js";
import { expirePoints, writePoints } from "./metrics/write-points.js";
import { sharedClock } from "./shared-clock.js";
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

/** Dependencies of all parts. */
interface Surroundings {
  readonly settings: Settings;
  readonly stores: Stores;
  readonly clock: Clock;
  readonly arrivalClock: Clock;
  readonly tables: Tables;
  readonly meters: Meters;
  readonly log: Log;
  readonly failpoint: Failpoint;
}

/** Connects all parts: the only file that imports every part. Each part gets only the ports that it names. */
export async function compose(
  settings: Settings,
  own: Clock,
  log: Log,
  failpoint: Failpoint = noFailpoint,
  machine: Clock = own,
): Promise<Service> {
  const { roles } = settings;
  const stores = await openStores({ settings, log, clock: own, failpoint });
  const { now: clock, probe, watch } = sharedClock(own, machine, stores.serverTime);
  const meters = openMeters();
  const tables = configuredTables(settings);
  const arrivalClock = monotonicClock(clock);
  const surroundings = { settings, stores, clock, arrivalClock, tables, meters, log, failpoint };
  const { read_bytes, inflation } = settings.limits;
  const bodies = { memory: new MemoryBudget(read_bytes), parsing: new YieldBudget(), inflation };
  const series = composeSeries(surroundings, bodies);
  const profiles = composeProfiles(surroundings, bodies);
  const deletions = composeDeletions(surroundings, profiles, bodies);
  const signInCodes = new SignInCodes(clock);
  const served = [
    ...series.routes,
    ...catalogueRoutes({
      catalogue: stores.catalogue,
      marks: stores.marks,
      members: stores.memberships,
      tables,
      orders: series.orders,
      newest: series.newest,
      clock,
    }),
    ...deletions.routes,
    ...profiles.routes,
    ...keyRoutes(),
    ...pageRoutes(tables),
    ...signInRoutes(signInCodes),
  ];
  // A worker process serves only its health and metrics.
  const routes: Route[] = roles.includes("api") ? served : [];
  const probes = stores.serverTime === undefined ? stores.probes : stores.probes.concat(probe);
  routes.push(
    ...operationRoutes({ probes, meters, version, roles, clock, routes: () => routes, webhooks: [deletionWebhook] }),
  );
  const verify = keyVerifier(stores.keys, settings.admin_key, clock);
  const { history, catalogue, serviceErrorOf } = stores;
  const port = openServer({
    routes,
    settings,
    bodies,
    verify,
    keys: stores.keys,
    clock,
    log,
    meters,
    serviceErrorOf,
  });
  const background: { stop(): Promise<void> }[] = [];
  const isUnavailable = (error: unknown) => serviceErrorOf(error)?.kind === "unavailable";
  const reportDamage = (error: unknown) => {
    throw stores.startErrorOf?.(error) ?? error;
  };

  return {
    stores,
    server: port.server,
    routes,
    signInCodes,
    async listen() {
      background.push(await watch(log));
      await retryStart(() => deletions.replay().catch(reportDamage), isUnavailable, log);
      const address = await port.listen();
      const retention = retentionMs(settings.history.retention);
      const idempotency = [stores.idempotency, stores.repeatedDeletions];
      background.push(enforceRetention({ history, idempotency, catalogue, arrivalClock, retentionMs: retention, log }));
      if (roles.includes("worker")) {
        deletions.start();
        background.push(runRecorder(watchRecorder(series.recorder, clock, meters), settings.recorder.tick_ms, log));
      }
      return address;
    },
    async stop() {
      await port.stop();
      for (const task of background.reverse()) await task.stop();
      await deletions.stop();
      series.close();
      await stores.close();
    },
  };
}

/** Writing, reading and recording series. */
export function composeSeries(
  { settings, stores, clock, meters, failpoint }: Omit<Surroundings, "arrivalClock" | "tables" | "log">,
  bodies: BodyDependencies,
) {
  const { limits, cache } = settings;
  const deadlineMs = limits.store_deadline_ms;
  const { sharedGenerations, exclusive } = stores;
  const shared = sharedInvalidation({ sharedGenerations, exclusive: exclusive.metrics }, deadlineMs);
  const generations = new Generations(stores.series.chunkSlots, { exclusive: exclusive.metrics, shared });
  const write = writePoints({ store: stores.series, generations, failpoint });
  const longest = retentionMs(settings.metrics.retention);
  const retention = () => shorterOf(longest, stores.retentionMs());
  meters.gauge(
    "metric_read_bytes",
    "Estimated memory of reads, bodies and unsent responses.",
    () => bodies.memory.reserved,
  );
  const count = seriesCounters(meters);
  const countPoints = meters.counter("points_taken_total", "Points that clients wrote.");
  const budget = bodies.parsing;
  const store = stores.series;
  const slots = new SlotCache({ store, generations, bytes: cache.columns_bytes, budget, deadlineMs });
  const cacheMemory = new CacheMemory(cache.responses_bytes);
  const read = readPlans({ store, slots, generations, memory: cacheMemory, budget });
  const sums = slotSums({ slots, generations, memory: bodies.memory });
  const orders = listOrders(stores.sharedOrders);
  const countSeries = (dimension: Dimension) => store.count(dimension, { prefix: "" });
  const firstSegments = (limit: number) => firstSegmentIds(stores.catalogue, limit);

  return {
    orders,
    newest: newestValues({
      slots: uncachedSlots({ store, generations, memory: bodies.memory, deadlineMs }),
      chunkSlots: store.chunkSlots,
      generations,
      retention,
    }),
    recorder: createRecorder({
      dimensions,
      clock,
      retention: longest,
      owner: randomUUID(),
      audiences: audienceCounts(stores.catalogue, stores.memberships),
      counts: stores.counts,
      lease: stores.lease,
      series: { read: stores.series.read, expire: expirePoints({ store: stores.series, generations }) },
      missed: countMissed(dimensions, meters),
      write: (columns) => write("recorder", keptColumns(columns, clock(), retention())),
    }),
    routes: [
      ...pointRoutes({
        version,
        write: (columns) => write("clients", columns),
        countPoints,
        limits,
        bodies,
        retention,
        clock,
      }),
      ...listingRoutes({
        series: stores.series,
        streams: streamList({ series: stores.series, counts: stores.counts, sums, retention }),
        catalogue: stores.catalogue,
        orders,
        clock,
      }),
      ...metricRoutes({
        fetch: fetchBatch({ read, countSeries, firstSegments, limits, retention, count }),
        generations,
        limits,
        bodies,
        clock,
        count,
        cacheMemory,
      }),
    ],
    close: () => shared?.close(),
  };
}

/** Collecting messages, and reading profiles. */
function composeProfiles(
  { settings, stores, clock, arrivalClock, tables, meters, log }: Surroundings,
  bodies: BodyDependencies,
) {
  const { limits } = settings;
  const turns = bodies.parsing;
  const countDamaged = meters.counter("damaged_profiles_total", "Attempts to read a profile whose data was altered.");
  const opening = {
    turns,
    damaged(entity: string, err: unknown) {
      countDamaged();
      log.error({ entity, err }, "a profile is damaged; lists omit it, and reads of it fail");
    },
  };
  const hashIdentity = identityHashing(stores.pepper);
  const hashRequest = requestHashing(stores.pepper);
  const collectDependencies = {
    entities: stores.entities,
    history: stores.history,
    suppression: stores.suppression,
    memberships: stores.memberships,
    entityKeys: stores.entityKeys,
    newId: clusteredIds(),
    serviceErrorOf: stores.serviceErrorOf,
    turns,
    memory: bodies.memory,
    maxSegments: limits.entity_segments,
    countTaken: meters.counter(
      "messages_taken_total",
      "Messages that were taken in, each once however often it is sent.",
    ),
  };
  const collecting = {
    clock,
    arrivalClock,
    idempotency: stores.idempotency,
    hashIdentity,
    hashRequest,
    collect: collectMessages(collectDependencies),
    check: checkMessages(collectDependencies),
  };
  const reading = {
    ...opening,
    entities: stores.entities,
    history: stores.history,
    memberships: stores.memberships,
    suppression: stores.suppression,
    segments: segmentNames(stores.catalogue),
    entityKeys: stores.entityKeys,
    hashIdentity,
  };

  return {
    hashIdentity,
    hashRequest,
    opening,
    routes: [
      ...entityRoutes({ ...reading, tables, identityBytes: limits.identity_bytes, bodies }),
      ...collectRoutes({ ...collecting, tables, limits, bodies }),
    ],
  };
}

/**
 * Accepting deletions, and running them through every place that stores data. `stop` also ends the calls to remote
 * targets.
 */
function composeDeletions(
  { settings, stores, clock, arrivalClock, tables, meters, log, failpoint }: Surroundings,
  {
    hashIdentity,
    hashRequest,
    opening,
  }: {
    readonly hashIdentity: HashIdentity;
    readonly hashRequest: HashRequest;
    readonly opening: OpeningDependencies;
  },
  bodies: BodyDependencies,
) {
  const stopping = new AbortController();
  const targets = downstreamTargets({
    memberships: stores.memberships,
    history: stores.history,
    remote: settings.deletions.targets,
    failpoint,
    stopping: stopping.signal,
  });
  const signed = receipts({ ledger: stores.ledger, pepper: stores.pepper, version });
  const { webhook } = settings.deletions;
  const dependencies = {
    ...opening,
    ledger: stores.ledger,
    entities: stores.entities,
    entityKeys: stores.entityKeys,
    watermark: stores.watermark,
    history: stores.history,
    dueNotifications: stores.dueNotifications,
    targets,
    webhook: webhook === null ? undefined : webhookAt(webhook, signed, { stopping: stopping.signal }),
    hashIdentity,
    hashRequest,
    idempotency: stores.repeatedDeletions,
    arrivalClock,
    clock,
    log,
    observer: observeDeletions(meters, stores.ledger, clock),
    failpoint,
    retentionMs: retentionMs(settings.deletions.retention),
    // Each poll of a shared ledger queries a server.
    pollMs: stores.exclusive.entities ? 1_000 : 2_000,
  };
  const runs = scheduler(dependencies);

  return {
    replay: () => replayLedger(dependencies),
    start: runs.start,
    routes: deletionRoutes({
      ...dependencies,
      completedByMonth: completedByMonth(stores.ledger, clock),
      tables,
      limits: settings.limits,
      bodies,
      dueMs: durationMs(settings.deletions.due),
      receipts: signed,
    }),
    async stop() {
      stopping.abort();
      await runs.stop();
    },
  };
}
