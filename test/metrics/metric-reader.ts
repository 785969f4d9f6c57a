import { CacheMemory } from "../../src/cache-memory.js";
import { MemoryBudget, type Reservation } from "../../src/memory-budget.js";
import { Generations } from "../../src/metrics/cache/generations.js";
import { SlotCache } from "../../src/metrics/cache/slot-cache.js";
import type { SeriesStore, SettingSource } from "../../src/metrics/ports.js";
import { seriesPlan } from "../../src/metrics/query/plan.js";
import { type FetchedSeries, type ReadPlans, readPlans } from "../../src/metrics/query/read-plans.js";
import { type RequestedSeries, seriesRequest } from "../../src/metrics/query/request.js";
import type { Series, SlotColumn } from "../../src/metrics/series.js";
import { WriteOrders } from "../../src/metrics/write-orders.js";
import { pointWrites } from "../../src/metrics/write-points.js";
import type { Stores } from "../../src/stores/stores.js";
import { temporaryStores } from "../support/stores.js";

export interface Caches {
  readonly bytes: number;
}

export const largeCaches: Caches = { bytes: 2 ** 25 };
export const noCaches: Caches = { bytes: 1 };

/** Series read and written as the service does it, with a count of the reads that reach the store. */
export interface MetricReader {
  readonly stores: Stores;
  readonly generations: Generations;
  readonly memory: CacheMemory;
  /** Number of reads of the store so far. */
  reads(): number;
  fetch(asked: readonly RequestedSeries[], now: number): Promise<FetchedSeries[]>;
  readonly readPlans: ReadPlans;
  /** Writes slots of a source, by default the clients. */
  write(columns: readonly SlotColumn[], source?: SettingSource): Promise<void>;
  /** Saves one slot. */
  save(series: Series, ts: number, value: number): Promise<void>;
}

export interface ReaderOptions {
  readonly cache?: Caches;
  readonly deadlineMs?: number;
  /** Puts something between the reader and the embedded store. */
  readonly between?: (store: SeriesStore) => SeriesStore;
}

export async function openMetricReader(options: ReaderOptions = {}): Promise<MetricReader> {
  const stores = await temporaryStores();
  const between = options.between?.(stores.series) ?? stores.series;
  const generations = new Generations(between.chunkSlots, { exclusive: true });
  let reads = 0;
  const store: SeriesStore = {
    ...between,
    // To find that a series does not exist is to read the store, too.
    mayHold(series) {
      const may = between.mayHold(series);
      if (!may) reads += 1;
      return may;
    },
    read(windows, source) {
      reads += 1;
      return between.read(windows, source);
    },
  };
  const { cache = largeCaches, deadlineMs = 5_000 } = options;
  const memory = new CacheMemory(cache.bytes);
  const slots = new SlotCache({ store, generations, memory, deadlineMs });
  const read = readPlans({ store, slots, generations, memory });
  const orders = new WriteOrders(async () => 1);
  const { write: record } = pointWrites({ store, generations, orders: { clients: orders, recorder: orders } });
  return {
    stores,
    generations,
    memory,
    reads: () => reads,
    fetch: (asked, now) =>
      read(
        asked.map((each) => seriesPlan(seriesRequest(each, now), now)),
        now,
        undefined,
        unboundReading(),
      ),
    readPlans: read,
    write: (columns, source = "clients") => record(source, columns),
    save: (series, from, value) => record("clients", [{ series, from, values: Float64Array.of(value) }]),
  };
}

/** A reservation without a limit, for a caller who waits. */
export function unboundReading(): Reservation {
  return new MemoryBudget(Number.POSITIVE_INFINITY).open(() => {});
}

/** The values of a fetched series, as a caller reads them. */
export function valuesOf({ json }: FetchedSeries): { value: number; ts: string }[] {
  return JSON.parse(json.toString());
}
