import { withTimeLimit } from "../../async/time-limit.js";
import { CacheMemory } from "../../cache-memory.js";
import { retentionMs } from "../../formats/duration.js";
import type { Probe } from "../../meters.js";
import type { EngineDependencies, MetricEngine } from "../stores.js";
import { findBucket, KnownBucket } from "./bucket.js";
import { influxAddress, influxClient } from "./connection.js";
import { BucketError } from "./errors.js";
import { type InfluxSeriesStore, influxSeriesStore } from "./series-store.js";

/** Time limit of a check of the bucket, and maximum wait of the start for the first check, ms. */
const CHECK_MS = 5_000;
const FIRST_CHECK_MS = 2_000;

/**
 * Multiple of our own time limit at which the client gives up. Our limit must end every request first, because the
 * client rejects without closing the connection.
 */
const SILENCE_FACTOR = 2;

/**
 * Opens the series in InfluxDB 2, whose retention is the bucket's. While the server is unreachable, reads and writes
 * reject; they succeed again once it responds. Throws a `StartError` if the URL or the token is missing or malformed.
 */
export async function openInflux({
  settings,
  log,
  clock,
  cache = new CacheMemory(0),
}: EngineDependencies): Promise<MetricEngine & { readonly series: InfluxSeriesStore }> {
  const address = influxAddress(settings);
  const deadlineMs = settings.limits.store_deadline_ms;
  const client = influxClient(address, SILENCE_FACTOR * deadlineMs);
  const bucket = new KnownBucket({
    find: (signal) => findBucket(client, address, retentionMs(settings.metrics.retention), signal),
    log,
    host: new URL(address.url).host,
    checkMs: Math.min(CHECK_MS, deadlineMs / 2),
  });
  const closing = new AbortController();
  await withTimeLimit(FIRST_CHECK_MS, [], () => bucket.check()).catch(() => {});

  const series = influxSeriesStore({
    client,
    bucket,
    bucketName: address.bucket,
    deadlineMs,
    clock,
    log,
    closing: closing.signal,
    cache,
  });
  return {
    series,
    ownsSeries: false,
    retentionMs: () => bucket.retentionMs,
    probes: [probe(bucket)],
    // The series reject with a `ServiceError`.
    toServiceError: () => undefined,
    async close() {
      bucket.close();
      closing.abort();
      client.close();
    },
  };
}

/** Not required: profiles can be served without series. */
function probe(bucket: KnownBucket): Probe {
  return {
    name: "metrics",
    required: false,
    async check() {
      try {
        await bucket.check();
        return bucket.isFull ? "InfluxDB has no space left: the last write of points was refused" : undefined;
      } catch (error) {
        if (error instanceof BucketError) return error.message;
        throw error;
      }
    },
  };
}
