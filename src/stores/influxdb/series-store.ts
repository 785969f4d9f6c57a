import { eachAtOnce } from "../../async/each-at-once.js";
import { groupedCalls } from "../../async/grouped-calls.js";
import type { Clock } from "../../clock.js";
import { invalid, ServiceError } from "../../errors.js";
import type { Log } from "../../log.js";
import type { SeriesStore, SeriesWindow, ValueSource } from "../../metrics/ports.js";
import { addSlots, isSum, type SlotColumn, seriesKey } from "../../metrics/series.js";
import type { KnownBucket } from "./bucket.js";
import type { InfluxClient } from "./connection.js";
import { attempts, requestError, statusOf, timedOut } from "./errors.js";
import { halves, linesOf } from "./lines.js";
import { FIRST, fluxScript, idsScript, LAST, slotQueries, sumScript } from "./queries.js";
import { type RowReader, readRows, SlotTarget, slotReader } from "./response-csv.js";
import { SeriesNames } from "./series-names.js";

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
}

/** The write of one call. */
interface Write {
  readonly columns: readonly SlotColumn[];
  readonly lines: string;
  /** Time of the call, ms of `performance.now`. */
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

/** Slots of all series that one query sums up. */
const SUMMED_SLOTS = 300_000;

/** Concurrent queries of one read. */
const CONCURRENT_QUERIES = 4;

/**
 * Series in a bucket: a measurement for each dimension, the tags `dimension_id` and `dimension_type`, the field `value`
 * for clients and `recorded` for the recorder, at the ms of the slot's start. A write that rejects may be stored in
 * part; repeating it completes it. Rejects with a `ServiceError`: `unavailable`, `invalid` for a point older than the
 * retention, `internal` for lines that the server refuses.
 */
export function influxSeriesStore(dependencies: InfluxSeriesDependencies): SeriesStore {
  const { client, bucket, bucketName, deadlineMs, clock, log, closing } = dependencies;
  const names = new SeriesNames((dimension, type, take) =>
    query(idsScript(bucketName, dimension.name, type), { columns: ["_value"], row: ([id]) => take(id as string) }),
  );

  const writeTogether = groupedCalls((writes: readonly Write[]) => sendTogether(writes), {
    most: TOGETHER,
    weightOf: ({ lines }) => lines.length,
    atOnce: CONCURRENT_WRITES,
    isOfOneCall: (error) =>
      OF_ONE_WRITE.includes(statusOf(error) ?? 0) || (error instanceof ServiceError && error.kind === "invalid"),
    deadline: { ms: deadlineMs / 2, error: timedOut },
  });

  return {
    chunkSlots: CHUNK_SLOTS,
    write: (source, columns) =>
      reported("write", async () => {
        await writeTogether([{ columns, lines: linesOf(source, columns), since: performance.now() }]);
        bucket.isFull = false;
        names.written(columns);
      }),
    list: (dimension, page) => reported("read", () => names.list(dimension, page)),
    count: (dimension, among) => reported("read", () => names.count(dimension, among)),
    read: (windows, source) => reported("read", () => read(windows, source)),
    /** Returns true: finding out would take a query. */
    mayHold: () => true,
    /** The bucket deletes points by its own retention. */
    expire: async () => {},
  };

  /** Sends the lines of concurrent writes in one request. */
  async function sendTogether(writes: readonly Write[]): Promise<void> {
    const columns = writes.flatMap((write) => write.columns);
    const lines = writes.map((write) => write.lines).join("");
    // Deadline of the write that has waited longest.
    const restMs = Math.min(...writes.map(({ since }) => since)) + deadlineMs - performance.now();
    // An attempt without a response leaves time for another: its connection may have died silently.
    const limits = { deadlineMs: restMs, attemptMs: restMs / 2, signals: [closing] };
    await attempts(limits, async (signal) => {
      if (hasValueBefore(columns, clock() - SHORTEST_RETENTION_MS)) await bucket.checked(signal);
      refuseExpired(columns, 0);
      try {
        await send(lines, signal);
      } catch (error) {
        if (statusOf(error) !== 422) throw error;
        // The retention may have been shortened, or the server's clock may be ahead of ours.
        await bucket.check();
        refuseExpired(columns, SKEW_MS);
        throw error;
      }
    });
  }

  /** Throws if a slot of the columns is older than the retention, or will be within `marginMs`. */
  function refuseExpired(columns: readonly SlotColumn[], marginMs: number): void {
    if (bucket.retentionMs === undefined) return;
    const oldest = clock() - bucket.retentionMs + marginMs;
    if (hasValueBefore(columns, oldest)) {
      throw invalid("before_retention", "", "A point is older than what the store keeps");
    }
  }

  /** Sends lines. After a 413 of the server or a proxy, sends them in two requests. */
  async function send(lines: string, signal: AbortSignal): Promise<void> {
    try {
      await inBucket(signal, () => client.write(lines, signal));
    } catch (error) {
      const both = statusOf(error) === 413 ? halves(lines) : undefined;
      if (both === undefined) throw error;
      for (const half of both) await send(half, signal);
    }
  }

  async function read(windows: readonly SeriesWindow[], source: ValueSource | undefined): Promise<Float64Array[]> {
    const stored = windows.filter(({ series }) => !isSum(series));
    const columns = (await readStored(stored, source)).values();
    const read: Float64Array[] = [];
    for (const window of windows)
      read.push(isSum(window.series) ? await readSum(window) : (columns.next().value as Float64Array));
    return read;
  }

  async function readStored(
    windows: readonly SeriesWindow[],
    source: ValueSource | undefined,
  ): Promise<Float64Array[]> {
    const targets = new Map<string, SlotTarget[]>();
    const filled = windows.map(({ series, from, to }) => {
      const { slotMs } = series.dimension;
      const target = new SlotTarget(from, slotMs, (to - from) / slotMs);
      const key = seriesKey(series);
      const others = targets.get(key);
      if (others === undefined) targets.set(key, [target]);
      else others.push(target);
      return target;
    });
    const failed = new AbortController();
    await eachAtOnce(slotQueries(windows), CONCURRENT_QUERIES, async (slotQuery) => {
      const { dimension } = slotQuery;
      const targetsOf = (id: string, type: string) => targets.get(seriesKey({ dimension, id, type })) ?? [];
      try {
        await query(fluxScript(bucketName, slotQuery, source), slotReader(targetsOf), failed.signal);
      } catch (error) {
        failed.abort();
        throw error;
      }
    });
    return filled.map((target) => target.merged());
  }

  /** Queries all series of the dimension, in windows short enough that the values of one query fit into memory. */
  async function readSum({ series: { dimension, type }, from, to }: SeriesWindow): Promise<Float64Array> {
    const { slotMs } = dimension;
    const sums = new Float64Array((to - from) / slotMs).fill(Number.NaN);
    const series = Math.max(1, await names.count(dimension, { prefix: "" }));
    const length = Math.max(1, Math.floor(SUMMED_SLOTS / series));
    for (let first = 0; first < sums.length; first += length) {
      const count = Math.min(length, sums.length - first);
      const start = from + first * slotMs;
      const end = start + count * slotMs;
      // InfluxDB refuses queries outside the range of times that it can store.
      if (end <= FIRST || start >= LAST) continue;
      const targets = new Map<string, [SlotTarget]>();
      const targetsOf = (id: string) => {
        const target = targets.get(id) ?? [new SlotTarget(start, slotMs, count)];
        targets.set(id, target);
        return target;
      };
      const script = sumScript(bucketName, { dimension, from: start, to: end }, type);
      await query(script, slotReader(targetsOf));
      const part = sums.subarray(first, first + count);
      for (const [target] of targets.values()) addSlots(target.merged(), part);
    }
    return sums;
  }

  /**
   * Runs a query and passes the rows of its response to `reader`. After a temporary error, begins with the first again.
   */
  function query(script: string, reader: RowReader, ...signals: readonly AbortSignal[]): Promise<void> {
    const limits = { deadlineMs, attemptMs: deadlineMs, signals: [closing, ...signals] };
    return attempts(limits, (signal) => inBucket(signal, () => readRows(client.query(script, signal), reader)));
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

/** Returns whether the columns have a value of a slot that starts before an instant (Unix ms). */
function hasValueBefore(columns: readonly SlotColumn[], ms: number): boolean {
  return columns.some(({ series, from, values }) => {
    const before = Math.max(0, Math.ceil((ms - from) / series.dimension.slotMs));
    return values.subarray(0, before).some((value) => !Number.isNaN(value));
  });
}
