import { HttpError } from "@influxdata/influxdb-client";
import type { Clock } from "../../clock.js";
import { invalid } from "../../errors.js";
import type { Log } from "../../log.js";
import type { SlotColumn } from "../../metrics/series.js";
import type { Plane, SeriesStore, SeriesWindow } from "../../metrics/series-store.js";
import { attempts } from "./attempts.js";
import type { InfluxClient } from "./client.js";
import { CsvSlots, SlotTarget } from "./csv-slots.js";
import { requestError } from "./errors.js";
import { fluxScript } from "./flux-script.js";
import type { KnownBucket } from "./known-bucket.js";
import { halves, lineTexts } from "./line-text.js";
import { slotQueries } from "./slot-queries.js";

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

/** No bucket keeps points for less, ms. What is older is written only once the retention has been looked at. */
const SHORTEST_RETENTION_MS = 3_600_000;

/** How much the server's clock may be ahead of ours, ms. */
const SKEW_MS = 60_000;

/** Queries of one read that are under way at once. */
const SIDE_BY_SIDE = 4;

/**
 * Series in a bucket: a measurement for each dimension, the tags `dimension_id` and `dimension_type`, the field `value` for what clients
 * wrote and `recorded` for what the recorder did, at the ms where the slot starts. A write that rejects may have been kept in part: to write it again puts that right.
 */
export function influxSeriesStore(parts: InfluxSeriesParts): SeriesStore {
  const { client, bucket, bucketName, deadlineMs, clock, log, closing } = parts;

  return {
    chunkSlots: CHUNK_SLOTS,
    write: (plane, columns) => told("write", () => write(plane, columns)),
    read: (windows, plane) => told("read", () => read(windows, plane)),
    /** Only a query could tell. */
    mayHold: () => true,
    /** Forgetting is the bucket's own work: it keeps points as long as its retention says. */
    expire: async () => {},
  };

  async function write(plane: Plane, columns: readonly SlotColumn[]): Promise<void> {
    // An attempt that is not answered leaves time for another: its connection may be one that has died without a word.
    const limits = { deadlineMs, attemptMs: deadlineMs / 2, signals: [closing] };
    await attempts(limits, async (signal) => {
      await bucket.there(signal);
      if (saysSomethingBefore(columns, clock() - SHORTEST_RETENTION_MS)) await bucket.seenNow(signal);
      refuseExpired(columns, 0);
      try {
        for (const text of lineTexts(plane, columns)) await send(text, signal);
      } catch (error) {
        if (statusOf(error) !== 422) throw error;
        // The bucket may keep less than it did, or the server's clock be ahead of ours.
        await bucket.look();
        refuseExpired(columns, SKEW_MS);
        throw error;
      }
    });
  }

  /** Throws when the bucket keeps a slot of the columns no longer, or for less than `marginMs` from now. */
  function refuseExpired(columns: readonly SlotColumn[], marginMs: number): void {
    if (bucket.retentionMs === undefined) return;
    const oldest = clock() - bucket.retentionMs + marginMs;
    if (saysSomethingBefore(columns, oldest)) {
      throw invalid("before_retention", "", "A point is older than what the store keeps");
    }
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

  async function read(windows: readonly SeriesWindow[], plane: Plane | undefined): Promise<Float64Array[]> {
    const targets = new Map<string, SlotTarget[]>();
    const filled = windows.map(({ series, from, to }) => {
      const { slotMs, name } = series.dimension;
      const target = new SlotTarget(from, slotMs, (to - from) / slotMs);
      const key = `${name}\0${series.id}\0${series.type}`;
      const others = targets.get(key);
      if (others === undefined) targets.set(key, [target]);
      else others.push(target);
      return target;
    });
    const queries = slotQueries(windows);
    const failed = new AbortController();
    const limits = { deadlineMs, attemptMs: deadlineMs, signals: [closing, failed.signal] };
    const worker = async () => {
      for (let query = queries.shift(); query !== undefined; query = queries.shift()) {
        const { dimension } = query;
        const targetsOf = (id: string, type: string) => targets.get(`${dimension.name}\0${id}\0${type}`) ?? [];
        await attempts(limits, (signal) =>
          inBucket(signal, () => readInto(fluxScript(bucketName, query, plane), targetsOf, signal)),
        );
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, queries.length) }, worker));
    } catch (error) {
      failed.abort();
      throw error;
    }
    const empty = new Map<number, Float64Array>();
    return filled.map((target) => target.merged() ?? emptyColumn(target.length, empty));
  }

  async function readInto(
    script: string,
    targetsOf: (id: string, type: string) => readonly SlotTarget[],
    signal: AbortSignal,
  ): Promise<void> {
    const slots = new CsvSlots(targetsOf);
    for await (const piece of client.query(script, signal)) slots.take(piece);
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
      const failure = requestError(error);
      if (failure.kind === "internal" || [201, 401, 403, 404].includes(status ?? 0))
        log.error({ status }, `InfluxDB did not accept a ${what}`);
      if (status === undefined && !closing.aborted) bucket.look().catch(() => {});
      throw failure;
    }
  }
}

/** The column of so many slots in which nothing is saved: one for all windows of that length. */
function emptyColumn(length: number, known: Map<number, Float64Array>): Float64Array {
  const column = known.get(length) ?? new Float64Array(length).fill(Number.NaN);
  known.set(length, column);
  return column;
}

/** Whether the columns say something of a slot that starts before a moment (Unix ms). */
function saysSomethingBefore(columns: readonly SlotColumn[], ms: number): boolean {
  return columns.some(({ series, from, values }) => {
    const before = Math.max(0, Math.ceil((ms - from) / series.dimension.slotMs));
    return values.subarray(0, before).some((value) => !Number.isNaN(value));
  });
}

function statusOf(error: unknown): number | undefined {
  return error instanceof HttpError ? error.statusCode : undefined;
}
