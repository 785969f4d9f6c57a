import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import { retry } from "./async/retry.js";
import { NewConnections, YieldBudget } from "./async/yielding.js";
import { audienceCounts } from "./catalogue/audience-counts.js";
import { firstSegmentIds, segmentNames } from "./catalogue/segments.js";
import { arrivals, type Clock } from "./clock.js";
import { readJson, type Settings } from "./config.js";
import { openErasure } from "./deletions/erasure.js";
import { observeDeletions } from "./deletions/observe-deletions.js";
import { receipts } from "./deletions/receipt.js";
import { downstreamTargets } from "./downstream/index.js";
import { checkMessages, collectMessages, countTaken } from "./entities/collect-messages.js";
import { collectRequest } from "./entities/collect-request.js";
import { requestHashing } from "./entities/idempotent-request.js";
import { type HashIdentity, identityHashing } from "./entities/identity.js";
import { maintainHistory } from "./entities/maintain-history.js";
import { type Tables, tablesOf } from "./entities/tables.js";
import { type Failpoint, noFailpoint } from "./failpoint.js";
import { keepMs, shorterOf } from "./formats/duration.js";
import { experienceRoutes } from "./http/catalogue/experiences.js";
import { segmentRoutes } from "./http/catalogue/segments.js";
import { collectRoutes } from "./http/collect/index.js";
import { deletionRoutes } from "./http/deletions/index.js";
import { entityRoutes } from "./http/entities/index.js";
import { metricRoutes } from "./http/metrics/index.js";
import { listingRoutes } from "./http/metrics/listings.js";
import { keyRoutes, operationRoutes } from "./http/operations/index.js";
import { pageRoutes } from "./http/pages/index.js";
import { pointRoutes } from "./http/points/index.js";
import type { Route } from "./http/route.js";
import { openServer } from "./http/server.js";
import { keyVerifier } from "./keys/verify-key.js";
import type { Log } from "./log.js";
import { type Meters, openMeters } from "./meters.js";
import { Epochs } from "./metrics/cache/epochs.js";
import { othersOver } from "./metrics/cache/other-processes.js";
import { dimensions } from "./metrics/dimensions.js";
import { fetchBatch } from "./metrics/query/fetch-batch.js";
import { fetchSeries, seriesCounters } from "./metrics/query/fetch-series.js";
import { ReadMemory } from "./metrics/query/read-memory.js";
import { countMissed } from "./metrics/recorder/record-sizes.js";
import { createRecorder, runRecorder, watchRecorder } from "./metrics/recorder/recorder.js";
import { keptColumns } from "./metrics/slot-columns.js";
import { writePoints } from "./metrics/write-points.js";
import { nearbyIds } from "./names.js";
import { openStores } from "./stores/open-stores.js";
import type { Stores } from "./stores/stores.js";

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const shippedTables = new URL("../config/tables.json", import.meta.url);

/** A running service, whole. */
export interface Service {
  readonly stores: Stores;
  readonly server: Server;
  /** Every route. */
  readonly routes: readonly Route[];
  /** Opens the port; the address is a URL without a path. */
  listen(): Promise<string>;
  /** Lets requests under way finish, then closes everything. */
  stop(): Promise<void>;
}

/** What every part may need. */
interface Surroundings {
  readonly settings: Settings;
  readonly stores: Stores;
  readonly clock: Clock;
  /** See `clock.arrivals`: one for the whole process. */
  readonly arrivals: Clock;
  readonly tables: Tables;
  readonly meters: Meters;
  readonly log: Log;
  readonly failpoint: Failpoint;
}

/** Puts the parts together: the only file that knows every one of them. Each part gets the ports that it names, and no other. */
export async function compose(
  settings: Settings,
  clock: Clock,
  log: Log,
  failpoint: Failpoint = noFailpoint,
): Promise<Service> {
  const stores = await openStores({ settings, log, clock, failpoint });
  const meters = openMeters();
  const tables = tablesOf(readJson("TABLES_FILE", settings.tables_file ?? shippedTables));
  const arriving = arrivals(clock);
  const surroundings = { settings, stores, clock, arrivals: arriving, tables, meters, log, failpoint };
  const newConnections = new NewConnections();
  const series = composeSeries(surroundings, new YieldBudget(newConnections));
  const profiles = composeProfiles(surroundings);
  const deletions = composeDeletions(surroundings, profiles);
  const served = [
    ...series.routes,
    ...segmentRoutes({ catalogue: stores.catalogue, members: stores.memberships, tables: new Set(tables.keys()) }),
    ...experienceRoutes(stores.catalogue),
    ...deletions.routes,
    ...profiles.routes,
    ...keyRoutes(),
    ...pageRoutes(),
  ];
  // A process that only works in the background says how it is, and serves nothing else.
  const routes: Route[] = settings.roles.includes("api") ? served : [];
  routes.push(
    ...operationRoutes({ probes: stores.probes, meters, version, roles: settings.roles, clock, routes: () => routes }),
  );
  const verify = keyVerifier(stores.keys, settings.admin_key, clock);
  const { http, limits } = settings;
  const { history, idempotency, catalogue, serviceErrorOf } = stores;
  const port = openServer({ routes, settings: { http, limits }, newConnections, verify, log, meters, serviceErrorOf });
  const background: { stop(): Promise<void> }[] = [];

  return {
    stores,
    server: port.server,
    routes,
    async listen() {
      await retryWhileUnavailable(deletions.erasure.replay, surroundings);
      await retryWhileUnavailable(catalogue.endMemberships, surroundings);
      const address = await port.listen();
      const keep = keepMs(settings.history.keep);
      background.push(maintainHistory({ history, idempotency, catalogue, arrivals: arriving, keepMs: keep, log }));
      if (settings.roles.includes("worker")) {
        deletions.erasure.start();
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
function composeSeries({ settings, stores, clock, meters, failpoint }: Surroundings, budget: YieldBudget) {
  const { limits, cache } = settings;
  const deadlineMs = limits.store_deadline_ms;
  const exclusive = stores.exclusive.metrics;
  const others = othersOver({ sharedEpochs: stores.sharedEpochs, exclusive }, deadlineMs);
  const epochs = new Epochs(stores.series.chunkSlots, others);
  const record = writePoints({ store: stores.series, epochs, failpoint });
  const keepSetting = keepMs(settings.metrics.keep);
  const keep = () => shorterOf(keepSetting, stores.retentionMs());
  const memory = new ReadMemory(limits.read_bytes);
  meters.gauge("metric_read_bytes", "Memory that reads of series under way take, by estimate.", () => memory.taken);
  const count = seriesCounters(meters);
  const taken = meters.counter("points_taken_total", "Points that clients wrote.");
  const fetch = fetchSeries({ store: stores.series, epochs, cache, budget, deadlineMs });
  const firstSegments = (limit: number) => firstSegmentIds(stores.catalogue, limit);

  return {
    recorder: createRecorder({
      dimensions,
      clock,
      keep: keepSetting,
      owner: randomUUID(),
      audiences: audienceCounts(stores.catalogue, stores.memberships),
      counts: stores.counts,
      lease: stores.lease,
      series: stores.series,
      missed: countMissed(dimensions, meters),
      write: (columns) => record("recorder", keptColumns(columns, clock(), keep())),
    }),
    routes: [
      ...pointRoutes({ version, record: (columns) => record("clients", columns), taken, limits, keep, clock }),
      ...listingRoutes({ series: stores.series, counts: stores.counts, clock }),
      ...metricRoutes({
        fetch: fetchBatch({ fetch, firstSegments, limits, keep, count, deadlineMs }),
        epochs,
        limits,
        memory,
        clock,
        count,
        answerBytes: 0.75 * cache.answers_bytes,
      }),
    ],
    close: () => others?.close(),
  };
}

/** Collecting messages, and reading what they made of a profile. */
function composeProfiles({ settings, stores, clock, arrivals, tables, meters }: Surroundings) {
  const { limits } = settings;
  const hashIdentity = identityHashing(stores.pepper);
  const parts = {
    entities: countTaken(
      stores.entities,
      meters.counter("messages_taken_total", "Messages that were taken in, each once however often it is sent."),
    ),
    history: stores.history,
    suppression: stores.suppression,
    memberships: stores.memberships,
    entityKeys: stores.entityKeys,
    newId: nearbyIds(),
    hashIdentity,
    serviceErrorOf: stores.serviceErrorOf,
  };
  const collecting = {
    clock,
    arrivals,
    idempotency: stores.idempotency,
    hashRequest: requestHashing(stores.pepper),
    collect: collectMessages(parts, { segments: limits.entity_segments, deadlineMs: limits.store_deadline_ms }),
    check: checkMessages(parts, limits.entity_segments),
  };
  const segments = segmentNames(stores.catalogue);
  const reading = {
    entities: stores.entities,
    history: stores.history,
    segments,
    entityKeys: stores.entityKeys,
    hashIdentity,
  };

  return {
    hashIdentity,
    routes: [
      ...entityRoutes({ ...reading, tables, identityBytes: limits.identity_bytes }),
      ...collectRoutes({ collect: (request) => collectRequest(collecting, request), tables, limits, clock }),
    ],
  };
}

/** Accepting deletions, and running them through every place that holds data. `stop` ends the calls to remote targets too. */
function composeDeletions(
  { settings, stores, clock, arrivals, tables, meters, log, failpoint }: Surroundings,
  { hashIdentity }: { readonly hashIdentity: HashIdentity },
) {
  const stopping = new AbortController();
  const targets = downstreamTargets({
    memberships: stores.memberships,
    history: stores.history,
    remote: settings.deletions.targets,
    failpoint,
    stopping: stopping.signal,
  });
  const erasure = openErasure({
    ledger: stores.ledger,
    entities: stores.entities,
    entityKeys: stores.entityKeys,
    watermark: stores.watermark,
    history: stores.history,
    wakeUp: stores.wakeUp,
    targets,
    hashIdentity,
    clock,
    arrivals,
    log,
    observer: observeDeletions(meters, stores.ledger, clock),
    failpoint,
    keepMs: keepMs(settings.deletions.keep),
    sweepEveryMs: sweepEvery(stores),
    deadlineMs: settings.limits.store_deadline_ms,
  });

  return {
    erasure,
    routes: deletionRoutes({
      ledger: stores.ledger,
      tables,
      identityBytes: settings.limits.identity_bytes,
      clock,
      requestDeletion: erasure.request,
      preview: erasure.preview,
      receipts: receipts({ ledger: stores.ledger, pepper: stores.pepper, version }),
      hint: stores.wakeUp.hint,
      failpoint,
    }),
    async stop() {
      stopping.abort();
      await erasure.stop();
    },
  };
}

/** How long a start waits for a store that is unreachable, and between two attempts, ms. */
const START_WAIT_MS = 60_000;
const START_PAUSE_MS = 1_000;

/** Runs work that can be repeated, again and again while it fails for a store that is unreachable. */
function retryWhileUnavailable(work: () => Promise<void>, { stores, log }: Surroundings): Promise<void> {
  const until = performance.now() + START_WAIT_MS;
  return retry(work, (error) => {
    if (stores.serviceErrorOf(error)?.kind !== "unavailable" || performance.now() > until) return undefined;
    log.warn({ err: error }, "a store is unreachable: the start is tried again until it responds");
    return START_PAUSE_MS;
  });
}

/** Ms from one sweep to the next. Where several processes share the stores, each sweep queries a server, and wake-up calls make up for the longer pause. */
function sweepEvery({ exclusive }: Stores): number {
  return exclusive.entities || exclusive.jobs ? 1_000 : 30_000;
}
