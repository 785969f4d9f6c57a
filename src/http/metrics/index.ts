import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import type { Epochs } from "../../metrics/cache/epochs.js";
import type { CountSeries, FetchBatch } from "../../metrics/query/fetch.js";
import { type BodyParts, readBody, refuseUnlessJson, reservationOf } from "../core/body.js";
import { reserveParsed } from "../core/json-body.js";
import { exampleNames } from "../core/openapi.js";
import { isNotModified, takesGzip, varyBy } from "../core/response-body.js";
import { empty } from "../core/responses.js";
import { type ApiContext, type Route, route } from "../core/route.js";
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

export interface MetricParts {
  readonly fetch: FetchBatch;
  readonly epochs: Epochs;
  readonly limits: MetricReadLimits;
  readonly bodies: BodyParts;
  readonly clock: Clock;
  /** Counts series that were answered without being fetched. */
  readonly count: CountSeries;
  /** What whole answers that were sent may take in memory. */
  readonly answerBytes: number;
}

/** Reading of metrics, by query or by body. */
export function metricRoutes({
  fetch,
  epochs,
  limits,
  bodies,
  clock,
  count,
  answerBytes,
}: MetricParts): readonly Route[] {
  const responses = new ResponseCache({ fetch, epochs, clock, count, bytes: answerBytes });

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
          "`dimension`, `dimension_id` and `dimension_type` say which; all others are optional. `format=csv` or `Accept: text/csv` asks for CSV.",
        requiredQuery: whichSeries,
      },
      query: { ...formatQuery, ...seriesQuery },
      headers: { "If-None-Match": Type.String({ description: "An ETag: 304 while nothing has changed." }) },
      responses: {
        200: orCsv(metricAnswer),
        304: empty("Nothing has changed since the answer of `If-None-Match`."),
      },
      async handler({ ctx, query: { format, ...asked } }) {
        if (wantsCsv(ctx, format)) {
          const { series } = await fetch([readMetricQuery(asked)], clock(), reservationOf(ctx, bodies));
          setTag(ctx, metricTag(series, "csv"));
          if (isNotModified(ctx)) ctx.status = 304;
          else sendCsv(ctx, series);
          return;
        }
        const request = { text: `${QUERY}${ctx.querystring}`, tagged: true };
        const response =
          responses.get(request) ??
          (await responses.fetch(request, [readMetricQuery(asked)], reservationOf(ctx, bodies)));
        setTag(ctx, response.tag());
        if (isNotModified(ctx)) ctx.status = 304;
        else await send(ctx, response);
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
          "One object is taken instead of the array, too. Answers come in the order of the requests; an item that is wrong comes back in its place with `errors`. `format=csv` or `Accept: text/csv` asks for CSV; an item that is wrong is then 400.",
      },
      query: formatQuery,
      stream: {
        "application/json": { schema: seriesRequests(limits.batch_series), examples: () => requestExamples },
      },
      responses: { 200: orCsv(metricBatchAnswer) },
      async handler({ ctx, query: { format } }) {
        ctx.res.setHeader("Cache-Control", "no-store");
        varyBy(ctx, "Accept");
        refuseUnlessJson(ctx);
        const body = await readBody(ctx, limits.body_bytes, bodies);
        const { bytes, memory } = body;
        reserveParsed(body);
        const items = () => readMetricBody(bytes.toString(), limits);
        if (wantsCsv(ctx, format)) {
          sendCsv(ctx, (await fetch(items(), clock(), memory)).series);
          return;
        }
        // A cached response is found by the bytes of the body, which are parsed only where there is none.
        const request = { text: bytes.toString("latin1"), tagged: false };
        await send(ctx, responses.get(request) ?? (await responses.fetch(request, items(), memory)));
      },
    }),
  ];
}

/** Precedes the text of a query. It is no character of Latin-1, as which bodies are read, so no body has the same text. */
const QUERY = "\u{2192}";

function setTag(ctx: ApiContext, tag: string): void {
  ctx.res.setHeader("Cache-Control", "private, no-cache");
  varyBy(ctx, "Authorization, Accept, Accept-Encoding");
  ctx.res.setHeader("ETag", tag);
}

async function send(ctx: ApiContext, response: MetricResponse): Promise<void> {
  ctx.status = 200;
  ctx.res.setHeader("Content-Type", "application/json; charset=utf-8");
  if (response.gzip === undefined || !takesGzip(ctx)) {
    ctx.body = response.body();
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
      range: "4w",
      interval: "1d",
    },
  ],
};

/** Whether a request asks for CSV: `format` wins over `Accept`. */
function wantsCsv(ctx: ApiContext, format: "json" | "csv" | undefined): boolean {
  // What most send, and what nothing has to be weighed for.
  const { accept = "*/*" } = ctx.req.headers;
  if (format === undefined && (accept === "*/*" || accept === "application/json")) return false;
  return (format ?? ctx.accepts("json", "csv")) === "csv";
}
