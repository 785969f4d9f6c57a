import { setMaxListeners } from "node:events";
import { withTimeLimit } from "../../async/time-limit.js";
import { keepMs } from "../../formats/duration.js";
import type { Probe } from "../../meters.js";
import type { MetricEngine, OpenParts } from "../stores.js";
import { influxAddress } from "./address.js";
import { findBucket } from "./bucket.js";
import { influxClient } from "./client.js";
import { BucketError, influxServiceError } from "./errors.js";
import { KnownBucket } from "./known-bucket.js";
import { influxSeriesStore } from "./series-store.js";

/** The longest that a look at the bucket takes, and that the start waits for the first one, ms. */
const LOOK_MS = 5_000;
const FIRST_LOOK_MS = 2_000;

/** Every request is given up by our own limit before the client would: the client rejects, but leaves the connection open. */
const SILENCE_FACTOR = 2;

/**
 * Opens the series in InfluxDB 2, whose retention is that of the bucket. The server may be away: reads and writes then
 * say so, and find it when it is back. Throws a `StartError` when the URL or the token is missing or wrong in itself.
 */
export async function openInflux({ settings, log, clock }: OpenParts): Promise<MetricEngine> {
  const address = influxAddress(settings);
  const deadlineMs = settings.limits.store_deadline_ms;
  const client = influxClient(address, SILENCE_FACTOR * deadlineMs);
  const bucket = new KnownBucket({
    find: (signal) => findBucket(client, address, keepMs(settings.metrics.keep), signal),
    log,
    host: new URL(address.url).host,
    lookMs: Math.min(LOOK_MS, deadlineMs / 2),
  });
  const closing = new AbortController();
  // Every call under way listens to it.
  setMaxListeners(0, closing.signal);
  await withTimeLimit(FIRST_LOOK_MS, [], () => bucket.look()).catch(() => {});

  return {
    series: influxSeriesStore({
      client,
      bucket,
      bucketName: address.bucket,
      deadlineMs,
      clock,
      log,
      closing: closing.signal,
    }),
    exclusive: false,
    retentionMs: () => bucket.retentionMs,
    probes: [probe(bucket)],
    serviceErrorOf: influxServiceError,
    async close() {
      bucket.close();
      closing.abort();
      client.close();
    },
  };
}

/** Profiles can be served without series. */
function probe(bucket: KnownBucket): Probe {
  return {
    name: "metrics",
    required: false,
    async check() {
      try {
        await bucket.look();
        return undefined;
      } catch (error) {
        if (error instanceof BucketError) return error.message;
        throw error;
      }
    },
  };
}
