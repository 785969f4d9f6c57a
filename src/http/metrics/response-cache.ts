import type { Clock } from "../../clock.js";
import { ServiceError } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import { type Epochs, TokenCache } from "../../metrics/cache/epochs.js";
import type { AskedItem, CountSeries, FetchBatch, FetchedBatch } from "../../metrics/query/fetch.js";
import { isFresh } from "../../metrics/query/freshness.js";
import { gzipFast, WORTH_GZIP } from "../core/response-body.js";
import { metricBody, metricTag } from "./series-body.js";

/** A request whose response may be cached. */
export interface CacheableRequest {
  /** A key unique to the request. Dashboards that poll send the same bytes repeatedly. */
  readonly text: string;
  /** Whether its response has an ETag. */
  readonly tagged: boolean;
}

/** A whole JSON response. */
export interface MetricResponse {
  body(): Buffer;
  tag(): string;
  /** The compressed body, shared by all callers that accept gzip; absent where compression does not pay. */
  gzip?(): Promise<Buffer>;
}

export interface ResponseCacheDependencies {
  readonly fetch: FetchBatch;
  readonly epochs: Epochs;
  readonly clock: Clock;
  /** Counts series served without a fetch. */
  readonly count: CountSeries;
  /** Maximum memory of the cached responses. */
  readonly bytes: number;
}

/** A response served without a store read (`is_cached: true`). */
interface CachedResponse extends MetricResponse {
  /** Number of its series. */
  readonly series: number;
  /** Fresh in [since, freshUntil), Unix ms. */
  readonly since: number;
  readonly freshUntil: number;
  readonly bytes: number;
}

/** A fetch in progress. */
interface Flight {
  readonly number: number;
  readonly response: Promise<FetchedResponse>;
}

interface FetchedResponse extends MetricResponse {
  readonly series: number;
  readonly cached: number;
  /** Response for later requests; undefined if it is not reusable. */
  readonly cachedResponse: CachedResponse | undefined;
}

/** Maximum bytes of values of a cached response. */
const MAX_VALUES_BYTES = 1_048_576;

/**
 * Bytes of a series in a response besides its values, with its plan; and bytes of the compressed body per byte of the
 * plain one.
 */
const SERIES_BYTES = 1_300;
const GZIP_PART = 0.25;

/** Cache of whole responses while they are fresh. Concurrent equal requests share one fetch. */
export class ResponseCache {
  readonly #fetch: FetchBatch;
  readonly #clock: Clock;
  readonly #count: CountSeries;
  readonly #bytes: number;
  readonly #cached: TokenCache<CachedResponse>;
  readonly #flights = new Map<string, Flight>();
  /** Number of fetches started so far. */
  #begun = 0;

  constructor({ fetch, epochs, clock, count, bytes }: ResponseCacheDependencies) {
    this.#fetch = fetch;
    this.#clock = clock;
    this.#count = count;
    this.#bytes = bytes;
    this.#cached = new TokenCache(epochs, bytes, (cached, text) => cached.bytes + text.length);
  }

  /** Returns the cached response if it is fresh. */
  get({ text }: CacheableRequest): MetricResponse | undefined {
    const cached = this.#fresh(text);
    if (cached !== undefined) this.#count(cached.series, cached.series);
    return cached;
  }

  /**
   * Fetches these items. Shares a fetch in progress of the same request. A fetch that started before this call may lack
   * a write acknowledged since, so its response is used only if it is still fresh. Rejects as the fetch does.
   */
  async fetch(request: CacheableRequest, items: readonly AskedItem[], reading: Reservation): Promise<MetricResponse> {
    const before = this.#begun;
    for (;;) {
      const flight = this.#flights.get(request.text);
      if (flight === undefined) return this.#begin(request, items, reading);
      const response = await flight.response.catch(unlessOver);
      if (response === undefined) continue;
      const { cachedResponse } = response;
      if (flight.number <= before && (cachedResponse === undefined || this.#fresh(request.text) !== cachedResponse))
        continue;
      this.#count(response.series, response.cached);
      return response;
    }
  }

  #fresh(text: string): CachedResponse | undefined {
    const cached = this.#cached.get(text)?.value;
    return cached !== undefined && isFresh(cached, this.#clock()) ? cached : undefined;
  }

  #begin(request: CacheableRequest, items: readonly AskedItem[], reading: Reservation): Promise<MetricResponse> {
    this.#begun += 1;
    const response = this.#make(request, items, reading);
    this.#flights.set(request.text, { number: this.#begun, response });
    const end = () => this.#flights.delete(request.text);
    response.then(end, end);
    return response;
  }

  async #make(request: CacheableRequest, items: readonly AskedItem[], reading: Reservation): Promise<FetchedResponse> {
    const now = this.#clock();
    const batch = await this.#fetch(items, now, reading);
    const { series } = batch;
    const cached = series.filter((one) => "json" in one && one.isCached).length;
    const cachedResponse = this.#keep(request, batch, now);
    return {
      body:
        cachedResponse !== undefined && cached === series.length ? cachedResponse.body : once(() => metricBody(series)),
      tag: cachedResponse !== undefined && request.tagged ? cachedResponse.tag : once(() => metricTag(series, "json")),
      series: series.length,
      cached,
      cachedResponse,
    };
  }

  /** Caches the response for later requests, which then need no store read. */
  #keep(
    { text, tagged }: CacheableRequest,
    { series, freshUntil, token }: FetchedBatch,
    since: number,
  ): CachedResponse | undefined {
    const values = series.reduce((sum, one) => sum + ("json" in one ? one.json.byteLength : 0), 0);
    if (freshUntil <= since || values > Math.min(MAX_VALUES_BYTES, this.#bytes)) return undefined;
    // Joined when it is first sent: often the next write comes first.
    const body = once(() => metricBody(series.map((one) => ("json" in one ? { ...one, isCached: true } : one))));
    const tag = tagged ? metricTag(series, "json") : "";
    const bytes = Math.ceil((1 + GZIP_PART) * values) + SERIES_BYTES * (1 + series.length);
    const plain: CachedResponse = { body, tag: () => tag, series: series.length, since, freshUntil, bytes };
    const value = values < WORTH_GZIP ? plain : { ...plain, gzip: once(() => gzipFast(body())) };
    this.#cached.set(text, { value, token });
    return value;
  }
}

/**
 * Returns undefined for a fetch that ended with its request, because the caller disconnected or the deadline passed:
 * requests that share it fetch again. Throws other errors.
 */
function unlessOver(error: unknown): undefined {
  if (error instanceof ServiceError && error.kind === "timed-out") return undefined;
  throw error;
}

/** Calls `make` once and releases its inputs. */
function once<T>(make: () => T): () => T {
  let source: (() => T) | undefined = make;
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: (source as () => T)() };
    source = undefined;
    return made.value;
  };
}
