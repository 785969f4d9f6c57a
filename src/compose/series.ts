import { audienceCounts } from "../catalogue/audience-counts.js";
import { retentionMs, shorterOf } from "../formats/duration.js";
import { alertRoutes } from "../http/metrics/alerts.js";
import { federateRoutes } from "../http/metrics/federate.js";
import { metricRoutes } from "../http/metrics/index.js";
import { listingRoutes } from "../http/metrics/listings.js";
import { pointRoutes } from "../http/points/index.js";
import { Generations } from "../metrics/cache/generations.js";
import { SharedInvalidation } from "../metrics/cache/shared-invalidation.js";
import { SlotCache } from "../metrics/cache/slot-cache.js";
import { uncachedSlots } from "../metrics/cache/uncached-slots.js";
import { type Dimension, dimensions } from "../metrics/dimensions.js";
import { streamList } from "../metrics/list-streams.js";
import type { Lease, SettingSource } from "../metrics/ports.js";
import { eachColumn } from "../metrics/query/each-column.js";
import { fetchBatch, seriesCounters } from "../metrics/query/fetch.js";
import { newestValues } from "../metrics/query/newest-values.js";
import { readPlans } from "../metrics/query/read-plans.js";
import { countMissed } from "../metrics/recorder/record-sizes.js";
import { createRecorder, workerLease } from "../metrics/recorder/recorder.js";
import { keptColumns } from "../metrics/slot-columns.js";
import { WriteOrders } from "../metrics/write-orders.js";
import { expirePoints, pointWrites } from "../metrics/write-points.js";
import type { SharedDependencies } from "./shared.js";

/** Connects writing, reading and recording series. */
export function composeSeries({
  settings,
  stores,
  clock,
  memory,
  cache,
  version,
  meters,
  failpoint,
}: Omit<SharedDependencies, "arrivalClock" | "tables" | "log">) {
  const { limits } = settings;
  const { series: store, catalogue, counts, ownsSeries, sharedGenerations } = stores;
  const deadlineMs = limits.store_deadline_ms;

  const isShared = sharedGenerations !== undefined && !ownsSeries;
  // A store of this process alone never executes a write after it has rejected it.
  let order = 0;
  const ordersOf = (source: SettingSource) =>
    new WriteOrders(async () => (ownsSeries ? ++order : stores.raiseOrder(source)));
  const writeOrders = { clients: ordersOf("clients"), recorder: ordersOf("recorder") };
  // Writes of processes that were killed. If it fails, the first write repeats it.
  if (settings.roles.includes("api")) writeOrders.clients.begin().catch(() => {});
  const learnOrder = (order: number) => writeOrders.clients.learn(order);
  const shared = isShared ? new SharedInvalidation(sharedGenerations, deadlineMs, learnOrder) : undefined;
  const generations = new Generations(store.chunkSlots, { exclusive: ownsSeries, shared });
  const slots = new SlotCache({ store, generations, memory: cache, deadlineMs });

  const longest = retentionMs(settings.metrics.retention);
  const retention = shorterOf(longest, stores.retentionMs);
  const { write, add } = pointWrites({ store, generations, orders: writeOrders, failpoint });
  const takeLease: Lease = async (...call) => {
    const result = await stores.lease(...call);
    // Writes of the previous recorder, which may have been killed.
    if (result === "taken") await writeOrders.recorder.abandon();
    return result;
  };
  const lease = workerLease({ clock, lease: takeLease }, "recorder");
  const recorder = createRecorder({
    dimensions,
    clock,
    retention: longest,
    audiences: audienceCounts(catalogue, stores.memberships),
    counts,
    lease,
    series: { read: store.read, expire: expirePoints({ store, generations }), settle: store.settle },
    missed: countMissed(dimensions, meters),
    write: (columns) => write("recorder", keptColumns(columns, clock(), retention())),
  });

  const count = seriesCounters(meters);
  const fetch = fetchBatch({
    read: readPlans({ store, slots, generations, memory: cache }),
    countSeries: (dimension: Dimension) => store.count(dimension, { prefix: "" }),
    firstSegments: async (limit: number) => (await catalogue.segmentIds(undefined, limit)).sort(),
    maxValues: limits.response_values,
    retention,
    count,
  });
  const streams = streamList({ series: store, counts, eachColumn: eachColumn({ slots, memory }), retention });
  const fewSlots = uncachedSlots({ store, generations, memory, deadlineMs });
  const countPoints = meters.counter("points_taken_total", "Points that clients wrote.");

  return {
    newest: newestValues({ slots: fewSlots, generations, memory: cache, retention }),
    recorder,
    lease,
    fewSlots,
    routes: [
      ...pointRoutes({
        version,
        write: (columns) => write("clients", columns),
        add,
        countPoints,
        limits,
        retention,
        clock,
        cache,
      }),
      ...listingRoutes({ series: store, streams, catalogue, clock }),
      ...alertRoutes({ facts: stores.facts, catalogue, clock }),
      ...metricRoutes({ fetch, generations, limits, clock, count, cacheMemory: cache }),
      ...federateRoutes({ series: store, slots: fewSlots, catalogue, retention, clock }),
    ],
    close: () => shared?.close(),
  };
}
