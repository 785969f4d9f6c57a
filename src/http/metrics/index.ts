import { Type } from "@sinclair/typebox";
import type { CacheMemory } from "../../cache-memory.js";
import type { Clock } from "../../clock.js";
import type { Generations } from "../../metrics/cache/generations.js";
import type { CountSeries, FetchBatch, RequestedItem } from "../../metrics/query/fetch.js";
import { COLLECTIVE_IDS } from "../../reserved-names.js";
import { readBody, refuseUnlessJson } from "../core/body.js";
import { reserveParsed } from "../core/json-body.js";
import { exampleNames } from "../core/openapi.js";
import { acceptsGzip } from "../core/response-body.js";
import { empty } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
import { outOfBound } from "../keys/bounds.js";
import { type MetricReadLimits, readMetricBody, readMetricQuery } from "./items.js";
import { type MetricResponse, ResponseCache } from "./response-cache.js";
import {
  exampleSeries,
  formatQuery,
  metricAnswer,
  metricBatchAnswer,
  orCsv,
  seriesQuery,
  seriesRequests,
  whichSeries,
} from "./schemas.js";
import { metricTag } from "./series-body.js";
import { sendCsv } from "./series-csv.js";

export interface MetricDependencies {
  readonly fetch: FetchBatch;
  readonly generations: Generations;
  readonly limits: MetricReadLimits;
  readonly clock: Clock;
  /** Counts series served without a fetch. */
  readonly count: CountSeries;
  /** Memory of cached responses. */
  readonly cacheMemory: CacheMemory;
}

/** Routes that read metrics, by query or by body. */
export function metricRoutes({
  fetch,
  generations,
  limits,
  clock,
  count,
  cacheMemory,
}: MetricDependencies): readonly Route[] {
  const responses = new ResponseCache({ fetch, generations, clock, count, memory: cacheMemory });

  return [
    route({
      method: "GET",
      path: "/api/metric",
      scopes: ["metric:read"],
      docs: {
        id: "fetchMetric",
        tag: "metrics",
        summary: "Fetch one series",
        description:
          "Use it for one series, or to poll with `If-None-Match`. `dimension`, `dimension_id` and `dimension_type` select the series; the other parameters are optional. `format=csv` or `Accept: text/csv` returns CSV. Errors: 403 `forbidden` for all segments or streams if the key is bound to a stream; 400 `unknown_dimension`, `unknown_type`, `required`, `duplicate`.",
        requiredQuery: whichSeries,
      },
      query: { ...formatQuery, ...seriesQuery },
      headers: {
        "If-None-Match": Type.String({ description: "An ETag; the response is 304 while nothing has changed." }),
      },
      responses: {
        200: orCsv(metricAnswer),
        304: empty("Nothing has changed since the response with this ETag."),
      },
      async handler({ ctx, query: { format, ...asked } }) {
        const items = () => [readMetricQuery(asked)];
        refuseWildcards(ctx, items);
        if (wantsCsv(ctx, format)) {
          const { series } = await fetch(items(), clock(), ctx.state.memory);
          setTag(ctx, metricTag(series, "csv"));
          sendCsv(ctx, series);
          return;
        }
        const request = { text: `${QUERY}${ctx.querystring}`, tagged: true };
        const response = responses.get(request) ?? (await responses.fetch(request, items(), ctx.state.memory));
        setTag(ctx, response.tag);
        await send(ctx, response);
      },
    }),
    route({
      method: "POST",
      path: "/api/metric",
      scopes: ["metric:read"],
      docs: {
        id: "fetchMetrics",
        tag: "metrics",
        summary: "Fetch one series or many",
        description:
          "Use it to fetch the series of a page in one request. The body is an array or a single object. Results are in the order of the request; an invalid item is returned in its place with `errors`. `format=csv` or `Accept: text/csv` returns CSV, and an invalid item is then 400. Errors: 400 `empty`; 403 `forbidden` for all segments or streams if the key is bound to a stream; 413 `too_large`.",
      },
      query: formatQuery,
      stream: {
        "application/json": { schema: seriesRequests(limits.batch_series), examples: requestExamples },
      },
      responses: { 200: orCsv(metricBatchAnswer) },
      async handler({ ctx, query: { format } }) {
        ctx.res.setHeader("Cache-Control", "no-store");
        ctx.vary("Accept");
        refuseUnlessJson(ctx);
        const { memory } = ctx.state;
        const bytes = await readBody(ctx, limits.body_bytes);
        reserveParsed(bytes, memory);
        const items = () => readMetricBody(bytes.toString(), limits);
        refuseWildcards(ctx, items);
        if (wantsCsv(ctx, format)) {
          sendCsv(ctx, (await fetch(items(), clock(), memory)).series);
          return;
        }
        // The cache is keyed by the bytes of the body, which is parsed only on a miss.
        const request = { text: bytes.toString("latin1"), tagged: false };
        await send(ctx, responses.get(request) ?? (await responses.fetch(request, items(), memory)));
      },
    }),
  ];
}

/** Refuses to read all segments or streams by a key of one stream. Names of series are not bound. */
function refuseWildcards({ state: { bounds } }: ApiContext, items: () => readonly RequestedItem[]): void {
  if (bounds.stream === undefined) return;
  if (items().some(({ asked: { id = "" } }) => COLLECTIVE_IDS.includes(id))) throw outOfBound("stream");
}

/**
 * Prefix of a query's cache key. Bodies are read as Latin-1, which lacks this character, so no body has the same key.
 */
const QUERY = "\u{2192}";

function setTag(ctx: ApiContext, tag: string): void {
  ctx.res.setHeader("Cache-Control", "private, no-cache");
  ctx.vary("Authorization, Accept, Accept-Encoding");
  ctx.res.setHeader("ETag", tag);
}

async function send(ctx: ApiContext, response: MetricResponse): Promise<void> {
  ctx.status = 200;
  ctx.res.setHeader("Content-Type", "application/json; charset=utf-8");
  if (response.gzip === undefined || !acceptsGzip(ctx)) {
    ctx.body = response.body;
    return;
  }
  ctx.body = await response.gzip();
  ctx.set("Content-Encoding", "gzip");
}

const requestExamples = {
  one: [{ ...exampleSeries, range: "2d", interval: "2h" }],
  several: [
    exampleSeries,
    { dimension: "stream", dimension_id: exampleNames.stream, dimension_type: "size", range: "1d", interval: "1h" },
    {
      dimension: "experience",
      dimension_id: exampleNames.experience,
      dimension_type: "conversionrate",
      range: "6mo",
      interval: "1mo",
      timezone: "Europe/Berlin",
    },
  ],
};

/** Returns whether the request wants CSV: `format` overrides `Accept`. */
function wantsCsv(ctx: ApiContext, format: "json" | "csv" | undefined): boolean {
  // Fast path for the usual Accept headers.
  const { accept = "*/*" } = ctx.req.headers;
  if (format === undefined && (accept === "*/*" || accept === "application/json")) return false;
  return (format ?? ctx.accepts("json", "csv")) === "csv";
}
