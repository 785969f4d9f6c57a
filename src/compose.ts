import { randomBytes, randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { createRequire } from "node:module";
import { retry } from "./async/retry.js";
import { audienceCounts } from "./catalogue/audience-counts.js";
import { segmentIds } from "./catalogue/segment-ids.js";
import { segmentNames } from "./catalogue/segment-names.js";
import { arrivals, type Clock } from "./clock.js";
import { readJson } from "./config/read-json.js";
import type { Settings } from "./config.js";
import { openErasure } from "./deletions/erasure.js";
import { observeDeletions } from "./deletions/observe-deletions.js";
import { downstreamTargets } from "./downstream/index.js";
import { checkMessages, collectMessages } from "./entities/collect-messages.js";
import { collectRequest } from "./entities/collect-request.js";
import { requestHashing } from "./entities/idempotent-request.js";
import { identityHashing } from "./entities/identity.js";
import { maintainHistory } from "./entities/maintain-history.js";
import { readEntity } from "./entities/read-entity.js";
import { sealing } from "./entities/sealed.js";
import { type Tables, tablesOf } from "./entities/tables.js";
import { type Failpoint, noFailpoint } from "./failpoint.js";
import { keepMs } from "./formats/duration.js";
import { experienceRoutes } from "./http/catalogue/experiences.js";
import { segmentRoutes } from "./http/catalogue/segments.js";
import { collectRoutes } from "./http/collect/index.js";
import { deletionRoutes } from "./http/deletions/index.js";
import { entityRoutes } from "./http/entities/index.js";
import { metricRoutes } from "./http/metrics/index.js";
import { openServer } from "./http/open-server.js";
import { operationRoutes } from "./http/operations/index.js";
import { keyRoutes } from "./http/operations/key.js";
import { pageRoutes } from "./http/pages/index.js";
import { pointRoutes } from "./http/points/index.js";
import type { Route } from "./http/route.js";
import { keyVerifier } from "./keys/verify-key.js";
import type { Log } from "./log.js";
import { openMeters } from "./meters.js";
import { countCached, seriesCounters } from "./metrics/count-cached.js";
import { dimensions } from "./metrics/dimensions/index.js";
import { Epochs } from "./metrics/epochs.js";
import { fetchBatch } from "./metrics/fetch-batch.js";
import { fetchSeries } from "./metrics/fetch-series.js";
import { OtherProcesses } from "./metrics/other-processes.js";
import { ReadMemory } from "./metrics/read-memory.js";
import { recordPoints } from "./metrics/record-points.js";
import { createRecorder } from "./metrics/recorder.js";
import { type RunningRecorder, runRecorder } from "./metrics/run-recorder.js";
import { keptColumns } from "./metrics/slot-columns.js";
import { watchRecorder } from "./metrics/watch-recorder.js";
import { openStores } from "./stores/open-stores.js";
import type { Stores } from "./stores/stores.js";

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };

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

/** Puts the parts together: the only file that knows every one of them. */
export async function compose(
  settings: Settings,
  clock: Clock,
  log: Log,
  failpoint: Failpoint = noFailpoint,
): Promise<Service> {
  const stores = await openStores({ settings, log, clock, failpoint });
  const meters = openMeters();
  const tables = readTables(settings);
  const others = othersOver(stores, settings.limits.store_deadline_ms);
  const epochs = new Epochs(stores.series.chunkSlots, others);
  const record = recordPoints({ store: stores.series, epochs, failpoint });
  const keepSetting = keepMs(settings.metrics.keep);
  const keep = () => shortest(keepSetting, stores.retentionMs());
  const pointWriting = pointRoutes({
    version,
    record: (columns) => record("clients", columns),
    limits: settings.limits,
    keep,
    clock,
  });
  const deadlineMs = settings.limits.store_deadline_ms;
  const fetching = fetchSeries({ store: stores.series, epochs, cache: settings.cache, deadlineMs });
  const memory = new ReadMemory(settings.limits.read_bytes);
  meters.gauge("metric_read_bytes", "Memory that reads of series under way take, by estimate.", () => memory.taken);
  const count = seriesCounters(meters);
  const fetch = countCached(fetching, count);
  const metricReading = metricRoutes({
    fetch: fetchBatch({ fetch, segmentIds: segmentIds(stores.catalogue), limits: settings.limits, keep, deadlineMs }),
    epochs,
    limits: settings.limits,
    memory,
    clock,
    count,
    answerBytes: 0.75 * settings.cache.answers_bytes,
  });
  const arrivalClock = arrivals(clock);
  const hashIdentity = identityHashing(stores.pepper);
  const profiles = {
    ...stores,
    segments: segmentNames(stores.catalogue),
    sealing: sealing(stores.entityKeys),
    hashIdentity,
    newId: () => randomBytes(16).toString("hex"),
  };
  const stopping = new AbortController();
  const erasure = openErasure({
    ...stores,
    sealing: profiles.sealing,
    targets: downstreamTargets({ ...stores, remote: settings.deletions.targets, failpoint, stopping: stopping.signal }),
    hashIdentity,
    clock,
    arrivals: arrivalClock,
    log,
    observer: observeDeletions(meters, stores.ledger),
    failpoint,
    keepMs: keepMs(settings.deletions.keep),
    sweepEveryMs: sweepEvery(stores),
    deadlineMs,
  });
  const deletion = deletionRoutes({
    ledger: stores.ledger,
    tables,
    identityBytes: settings.limits.identity_bytes,
    clock,
    requestDeletion: erasure.request,
    hint: stores.wakeUp.hint,
    failpoint,
  });
  const { entity_segments: mostSegments } = settings.limits;
  const collecting = {
    ...stores,
    clock,
    arrivals: arrivalClock,
    hashRequest: requestHashing(stores.pepper),
    collect: collectMessages(profiles, { segments: mostSegments, deadlineMs }),
    check: checkMessages(profiles, mostSegments),
  };
  const collection = collectRoutes({
    collect: (request) => collectRequest(collecting, request),
    tables,
    limits: settings.limits,
    clock,
  });
  let maintenance: { stop(): Promise<void> } | undefined;
  const recorder = createRecorder({
    dimensions,
    clock,
    keep: keepSetting,
    owner: randomUUID(),
    audiences: audienceCounts(stores.catalogue, stores.memberships),
    counts: stores.counts,
    lease: stores.lease,
    series: stores.series,
    write: (columns) => record("recorder", keptColumns(columns, clock(), keep())),
  });
  let recording: RunningRecorder | undefined;
  const served = [
    ...pointWriting,
    ...metricReading,
    ...segmentRoutes({ catalogue: stores.catalogue, members: stores.memberships, tables: new Set(tables.keys()) }),
    ...experienceRoutes(stores.catalogue),
    ...deletion,
    ...entityRoutes({ read: readEntity(profiles), tables, identityBytes: settings.limits.identity_bytes }),
    ...collection,
    ...keyRoutes(),
    ...pageRoutes(),
  ];
  // A process that only works in the background says how it is, and serves nothing else.
  const routes: Route[] = settings.roles.includes("api") ? served : [];
  routes.push(...operationRoutes({ probes: stores.probes, meters, version, clock, routes: () => routes }));
  const verify = keyVerifier(stores.keys, settings.admin_key, clock);
  const port = openServer({ routes, settings, verify, log, meters, failureOf: stores.failureOf });

  return {
    stores,
    server: port.server,
    routes,
    async listen() {
      await patiently(erasure.eraseAgain, stores, log);
      await patiently(stores.catalogue.endMemberships, stores, log);
      const address = await port.listen();
      maintenance = maintainHistory({ ...stores, arrivals: arrivalClock, keepMs: keepMs(settings.history.keep), log });
      if (settings.roles.includes("worker")) erasure.start();
      if (settings.roles.includes("worker")) {
        recording = runRecorder(watchRecorder(recorder, clock, meters), settings.recorder.tick_ms, log);
      }
      return address;
    },
    async stop() {
      await port.stop();
      await recording?.stop();
      await maintenance?.stop();
      stopping.abort();
      await erasure.stop();
      others?.close();
      await stores.close();
    },
  };
}

/** How long a start waits for a store that is unreachable, and between two attempts, ms. */
const START_WAIT_MS = 60_000;
const START_PAUSE_MS = 1_000;

/** Runs work that can be repeated, again and again while it fails for a store that is unreachable. */
function patiently(work: () => Promise<void>, { failureOf }: Stores, log: Log): Promise<void> {
  const until = performance.now() + START_WAIT_MS;
  return retry(work, (error) => {
    if (failureOf(error)?.kind !== "unavailable" || performance.now() > until) return undefined;
    log.warn({ err: error }, "a store is away: the start goes on when it is back");
    return START_PAUSE_MS;
  });
}

/** Ms. Where several processes use the same stores, each look is a question to a server, and wake-up calls make up for the pause. */
function sweepEvery({ shared, wakeUpOutlives }: Stores): number {
  return shared && wakeUpOutlives ? 30_000 : 1_000;
}

/** What a store may add to its own deadline before a write is there or never will be, ms. */
const WRITE_MARGIN_MS = 2_000;

/** Other processes that may write the same series; undefined where this one has them, or the profiles, for itself. */
function othersOver({ sharedEpochs, exclusive }: Stores, deadlineMs: number): OtherProcesses | undefined {
  if (sharedEpochs === undefined || exclusive) return undefined;
  return new OtherProcesses({ shared: sharedEpochs, writeLifeMs: deadlineMs + WRITE_MARGIN_MS, deadlineMs });
}

/** The shorter of two lengths of time; undefined is for ever. */
function shortest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/** The kinds of entity that the configuration describes. */
function readTables({ tables_file }: Settings): Tables {
  const shipped = new URL("../config/tables.json", import.meta.url);
  return tablesOf(readJson("TABLES_FILE", tables_file ?? shipped));
}
