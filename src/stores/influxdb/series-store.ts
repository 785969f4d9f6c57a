import { groupedCalls } from "../../async/grouped-calls.js";
import { withTimeLimit } from "../../async/time-limit.js";
import type { CacheMemory } from "../../cache-memory.js";
import type { Clock } from "../../clock.js";
import { invalid, ServiceError } from "../../errors.js";
import type { Log } from "../../log.js";
import type { SeriesStore, SeriesWindow, WriteOrder } from "../../metrics/ports.js";
import { type SlotColumn, slotStart } from "../../metrics/series.js";
import type { TakeAdded } from "../copy.js";
import type { KnownBucket } from "./bucket.js";
import type { InfluxClient } from "./connection.js";
import { attempts, isAnswered, requestError, statusOf, timedOut } from "./errors.js";
import { addedLines, halves, linesOf } from "./lines.js";
import { idsScript } from "./queries.js";
import { type RowReader, readRows } from "./response-csv.js";
import { SeriesNames } from "./series-names.js";
import { seriesReads } from "./series-reads.js";

interface InfluxSeriesDependencies {
  readonly client: InfluxClient;
  readonly bucket: KnownBucket;
  /** Name of the bucket. */
  readonly bucketName: string;
  /** Time limit of a read or a write, ms. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts every running call. */
  readonly closing: AbortSignal;
  /** Memory in which the names of series count. */
  readonly cache: CacheMemory;
}

/** Series in a bucket, whose added points can be read one by one. */
export interface InfluxSeriesStore extends SeriesStore {
  /** Passes the added points of windows, which do not overlap, to `take`: each once, in no order. */
  eachAdded(windows: readonly SeriesWindow[], take: TakeAdded): Promise<void>;
}

/** The write of one call. */
interface Write {
  readonly lines: string;
  readonly order: WriteOrder;
  /** Returns whether it has a value of a slot that starts before an instant (Unix ms). */
  hasValueBefore(ms: number): boolean;
  /** Start of the write, ms of `performance.now`. */
  readonly since: number;
}

/** A day of hourly slots. Each slot of a chunk costs a row of the response, and each chunk an entry of the cache. */
const CHUNK_SLOTS = 24;

/** Minimum retention of a bucket, ms. Older points are written only after a check of the retention. */
const SHORTEST_RETENTION_MS = 3_600_000;

/** Maximum lead of the server's clock over ours, ms. */
const SKEW_MS = 60_000;

/**
 * Approximate maximum characters of lines that concurrent writes send together, and maximum concurrent requests with
 * such lines.
 */
const TOGETHER = 4_000_000;
const CONCURRENT_WRITES = 2;

/** Statuses of a combined request that the lines of a single write may have caused. */
const OF_ONE_WRITE = [201, 400, 422];

/**
 * Series in a bucket: a measurement for each dimension, the tags `dimension_id` and `dimension_type`, the field `value`
 * for clients and `recorded` for the recorder, near the start of the slot: see `linesOf`; the field `added` for each
 * added point, at its own ns, with tags for its source and order. A write that rejects may be stored in part, also
 * later; repeating it completes it. Rejects with a `ServiceError`: `unavailable`, `invalid` for a point older than the
 * retention, `internal` for lines that the server refuses.
 */
export function influxSeriesStore(dependencies: InfluxSeriesDependencies): InfluxSeriesStore {
  const { client, bucket, bucketName, deadlineMs, clock, log, closing, cache } = dependencies;
  const names = new SeriesNames(
    (dimension, type, take) =>
      query(idsScript(bucketName, dimension.name, type), () => ({
        columns: ["_value"],
        row: ([id]) => take(id as string),
      })),
    cache,
  );
  const reads = seriesReads({
    bucket: bucketName,
    query,
    countIds: (dimension) => names.count(dimension, { prefix: "" }),
  });

  const grouped = groupedCalls(sendTogether, {
    most: TOGETHER,
    weightOf: ({ lines }) => lines.length,
    atOnce: CONCURRENT_WRITES,
    isOfOneCall: (error) =>
      OF_ONE_WRITE.includes(statusOf(error) ?? 0) || (error instanceof ServiceError && error.kind === "invalid"),
    deadline: { ms: deadlineMs / 2, error: timedOut },
  });

  return {
    chunkSlots: CHUNK_SLOTS,
    write: (source, columns, order = FIRST_ORDER) =>
      reported("write", async () => {
        const hasValueBefore = (ms: number) => hasSlotBefore(columns, ms);
        const lines = linesOf(source, columns, order.number);
        await grouped([{ lines, order, hasValueBefore, since: order.since ?? performance.now() }]);
        bucket.isFull = false;
        names.written(columns.filter(hasValue).map(({ series }) => series));
      }),
    add: (added, order = FIRST_ORDER) =>
      reported("write", async () => {
        const since = order.since ?? performance.now();
        const hasValueBefore = (before: number) =>
          added.some(({ series: { dimension }, points }) => points.some(({ ms }) => slotStart(dimension, ms) < before));
        await grouped([{ lines: addedLines(added, order.number), order, hasValueBefore, since }]);
        bucket.isFull = false;
        names.written(added.map(({ series }) => series));
      }),
    /** Every point is kept. */
    settle: async () => {},
    eachAdded: (windows, take) => reported("read", () => reads.eachAdded(windows, take)),
    list: (dimension, page) => reported("read", () => names.list(dimension, page)),
    count: (dimension, among) => reported("read", () => names.count(dimension, among)),
    read: (windows, source) => reported("read", () => reads.read(windows, source)),
    /** Returns true: finding out would take a query. */
    mayHold: () => true,
    /** The bucket deletes points by its own retention. */
    expire: async () => {},
  };

  /**
   * Sends the lines of concurrent writes in one request. Abandons their orders as soon as an attempt is not answered,
   * because the server may execute it later: the last attempt may end when the request is answered with 503.
   */
  async function sendTogether(writes: readonly Write[]): Promise<void> {
    let abandoned: Promise<unknown> | undefined;
    const abandon = () => {
      abandoned ??= withTimeLimit(deadlineMs / 2, [], () => Promise.all(writes.map(({ order }) => order.abandon())));
      abandoned.catch(() => {});
    };
    try {
      await sendUntilStored(writes, abandon);
    } finally {
      await abandoned;
    }
  }

  async function sendUntilStored(writes: readonly Write[], abandon: () => void): Promise<void> {
    const lines = writes.map((write) => write.lines).join("");
    // Deadline of the write that has waited longest.
    const restMs = Math.min(...writes.map(({ since }) => since)) + deadlineMs - performance.now();
    // An attempt without a response leaves time for another: its connection may have died silently.
    const limits = { deadlineMs: restMs, attemptMs: restMs / 2, signals: [closing] };
    await attempts(limits, async (signal) => {
      const oldest = clock() - SHORTEST_RETENTION_MS;
      if (writes.some((write) => write.hasValueBefore(oldest))) await bucket.checked(signal);
      refuseExpired(writes, 0);
      try {
        await send(lines, abandon, signal);
      } catch (error) {
        if (statusOf(error) !== 422) throw error;
        // The retention may have been shortened, or the server's clock may be ahead of ours.
        await bucket.check();
        refuseExpired(writes, SKEW_MS);
        throw error;
      }
    });
  }

  /** Throws if a slot of the writes is older than the retention, or will be within `marginMs`. */
  function refuseExpired(writes: readonly Write[], marginMs: number): void {
    if (bucket.retentionMs === undefined) return;
    const oldest = clock() - bucket.retentionMs + marginMs;
    if (writes.some((write) => write.hasValueBefore(oldest))) {
      throw invalid("before_retention", "", "A point is older than what the store keeps");
    }
  }

  /** Sends lines. After a 413 of the server or a proxy, sends them in two requests. */
  async function send(lines: string, abandon: () => void, signal: AbortSignal): Promise<void> {
    try {
      await inBucket(signal, async () => {
        signal.addEventListener("abort", abandon);
        try {
          await client.write(lines, signal);
        } catch (error) {
          if (!isAnswered(error)) abandon();
          throw error;
        } finally {
          signal.removeEventListener("abort", abandon);
        }
      });
    } catch (error) {
      const both = statusOf(error) === 413 ? halves(lines) : undefined;
      if (both === undefined) throw error;
      for (const half of both) await send(half, abandon, signal);
    }
  }

  /** Runs a query and passes the rows of its response to a reader; after a temporary error, all of them to another. */
  function query(script: string, readerOf: () => RowReader, ...signals: readonly AbortSignal[]): Promise<void> {
    const limits = { deadlineMs, attemptMs: deadlineMs, signals: [closing, ...signals] };
    return attempts(limits, (signal) => inBucket(signal, () => readRows(client.query(script, signal), readerOf())));
  }

  /** Runs work on the bucket, and again after a check if the server does not find the bucket or the token. */
  async function inBucket(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    await bucket.ready(signal);
    try {
      await work();
    } catch (error) {
      if (statusOf(error) !== 404 && statusOf(error) !== 401) throw error;
      await bucket.checked(signal);
      await work();
    }
  }

  /**
   * Converts errors to the port's errors. Permanent errors are logged without the server's message, as it contains ids.
   * After an error without a status the bucket is checked, so that the log reports when the server is unreachable and
   * when it responds again.
   */
  async function reported<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const status = statusOf(error);
      const serviceError = requestError(error);
      bucket.isFull ||= serviceError.kind === "out-of-space";
      if (serviceError.kind === "internal" || [201, 401, 403, 404].includes(status ?? 0))
        log.error({ status }, `InfluxDB did not accept a ${what}`);
      if (status === undefined && !closing.aborted) bucket.check().catch(() => {});
      throw serviceError;
    }
  }
}

/** Order of the writes of a copy. */
const FIRST_ORDER: WriteOrder = { number: 0, abandon: async () => {} };

function hasValue({ values }: SlotColumn): boolean {
  return values.some((value) => !Number.isNaN(value));
}

/** Returns whether the columns have a value of a slot that starts before an instant (Unix ms). */
function hasSlotBefore(columns: readonly SlotColumn[], ms: number): boolean {
  return columns.some(({ series, from, values }) => {
    const before = Math.max(0, Math.ceil((ms - from) / series.dimension.slotMs));
    return values.subarray(0, before).some((value) => !Number.isNaN(value));
  });
}
