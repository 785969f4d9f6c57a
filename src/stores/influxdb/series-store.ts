import { HttpError } from "@influxdata/influxdb-client";
import type { Clock } from "../../clock.js";
import type { Log } from "../../log.js";
import type { SlotColumn } from "../../metrics/series.js";
import type { SeriesStore, SeriesWindow } from "../../metrics/series-store.js";
import { attempts } from "./attempts.js";
import type { InfluxClient } from "./client.js";
import { CsvSlots, type SlotTarget } from "./csv-slots.js";
import { requestFailure } from "./failure.js";
import { fluxScript } from "./flux-script.js";
import type { KnownBucket } from "./known-bucket.js";
import { halves, lineTexts } from "./line-text.js";
import { type SlotQuery, slotQueries } from "./slot-queries.js";

export interface InfluxSeriesParts {
  readonly client: InfluxClient;
  readonly bucket: KnownBucket;
  /** Its name. */
  readonly bucketName: string;
  /** The longest that a read or a write takes, ms. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends whatever is under way. */
  readonly closing: AbortSignal;
}

/** A day of hourly slots: every slot in an answer costs its row, and every chunk that is kept costs an entry. */
const CHUNK_SLOTS = 24;

/** Queries of one read that are under way at once. */
const SIDE_BY_SIDE = 4;

/**
 * Series in a bucket: a measurement for each dimension, the tags `dimension_id` and `dimension_type`, the field `value`, at
 * the ms where the slot starts. A write that rejects may have been kept in part: to write it again puts that right. What the
 * bucket would forget at once is not sent.
 */
export function influxSeriesStore(parts: InfluxSeriesParts): SeriesStore {
  const { client, bucket, bucketName, deadlineMs, clock, log, closing } = parts;

  return {
    chunkSlots: CHUNK_SLOTS,
    write: (columns) => told("write", () => write(columns)),
    read: (windows) => told("read", () => read(windows)),
    /** Forgetting is the bucket's own work: it keeps points as long as its retention says. */
    expire: async () => {},
  };

  async function write(columns: readonly SlotColumn[]): Promise<void> {
    // An attempt that is not answered leaves time for another: its connection may be one that has died without a word.
    const limits = { deadlineMs, attemptMs: deadlineMs / 2, signals: [closing] };
    await attempts(limits, async (signal) => {
      await bucket.there(signal);
      const oldest = oldestKept();
      try {
        await sendAll(columns, oldest, signal);
      } catch (error) {
        if (statusOf(error) !== 422) throw error;
        // The bucket may keep less than it did.
        await bucket.look();
        if (oldestKept() - oldest < deadlineMs) throw error;
        await sendAll(columns, oldestKept(), signal);
      }
    });
  }

  function oldestKept(): number {
    return bucket.retentionMs === undefined ? 0 : clock() - bucket.retentionMs;
  }

  async function sendAll(columns: readonly SlotColumn[], oldest: number, signal: AbortSignal): Promise<void> {
    for (const text of lineTexts(columns, oldest)) await send(text, signal);
  }

  /** Sends lines; in two parts when something on the way finds them too many. */
  async function send(text: string, signal: AbortSignal): Promise<void> {
    try {
      await inBucket(signal, () => client.write(text, signal));
    } catch (error) {
      const parts = statusOf(error) === 413 ? halves(text) : undefined;
      if (parts === undefined) throw error;
      for (const part of parts) await send(part, signal);
    }
  }

  async function read(windows: readonly SeriesWindow[]): Promise<Float64Array[]> {
    const targets = new Map<string, SlotTarget[]>();
    const columns = windows.map(({ series, from, to }) => {
      const { slotMs, name } = series.dimension;
      const values = new Float64Array((to - from) / slotMs).fill(Number.NaN);
      const key = `${name}\0${series.id}\0${series.type}`;
      const others = targets.get(key);
      if (others === undefined) targets.set(key, [{ from, slotMs, values }]);
      else others.push({ from, slotMs, values });
      return values;
    });
    const queries = slotQueries(windows);
    const failed = new AbortController();
    const limits = { deadlineMs, attemptMs: deadlineMs, signals: [closing, failed.signal] };
    const worker = async () => {
      for (let query = queries.shift(); query !== undefined; query = queries.shift()) {
        const { dimension } = query;
        const targetsOf = (id: string, type: string) => targets.get(`${dimension.name}\0${id}\0${type}`) ?? [];
        await attempts(limits, (signal) => inBucket(signal, () => readInto(query, targetsOf, signal)));
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, queries.length) }, worker));
    } catch (error) {
      failed.abort();
      throw error;
    }
    return columns;
  }

  async function readInto(
    query: SlotQuery,
    targetsOf: (id: string, type: string) => readonly SlotTarget[],
    signal: AbortSignal,
  ): Promise<void> {
    const slots = new CsvSlots(targetsOf);
    for await (const piece of client.query(fluxScript(bucketName, query), signal)) slots.take(piece);
    slots.end();
  }

  /** Does something with the bucket; once more after another look when it is not there any more. */
  async function inBucket(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    await bucket.there(signal);
    try {
      await work();
    } catch (error) {
      if (statusOf(error) !== 404 && statusOf(error) !== 401) throw error;
      bucket.forget();
      await bucket.there(signal);
      await work();
    }
  }

  /**
   * Hands out errors as a caller is told them. What will not pass by itself is logged, without the server's words: they hold
   * ids. After silence the bucket is looked for, so that the log says soon when the server is away and when it is back.
   */
  async function told<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const status = statusOf(error);
      const failure = requestFailure(error);
      if (failure.kind === "internal" || [201, 401, 403, 404].includes(status ?? 0))
        log.error({ status }, `InfluxDB did not accept a ${what}`);
      if (status === undefined && !closing.aborted) bucket.look().catch(() => {});
      throw failure;
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof HttpError ? error.statusCode : undefined;
}
