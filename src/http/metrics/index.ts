import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { type Epochs, TokenCache } from "../../metrics/cache/epochs.js";
import type { FetchBatch } from "../../metrics/query/fetch-batch.js";
import type { CountSeries } from "../../metrics/query/fetch-series.js";
import type { ReadMemory } from "../../metrics/query/read-memory.js";
import { readText, refuseUnlessJson } from "../body.js";
import { whenOut } from "../connections.js";
import { seriesNames } from "../errors.js";
import { exampleNames } from "../openapi.js";
import { isNotModified } from "../response-body.js";
import { empty } from "../responses.js";
import { type ApiContext, type Route, route } from "../route.js";
import {
  exampleSeries,
  formatQuery,
  metricAnswer,
  metricBatchAnswer,
  orCsv,
  SeriesRequests,
  seriesQuery,
  whichSeries,
} from "./schemas.js";
import { sendCsv, wantsCsv } from "./series-csv.js";
import { type MetricReadLimits, metricBody, metricTag, readMetricBody, readMetricQuery } from "./series-json.js";

export interface MetricParts {
  readonly fetch: FetchBatch;
  readonly epochs: Epochs;
  readonly limits: MetricReadLimits;
  /** What reads under way may take in memory. */
  readonly memory: ReadMemory;
  readonly clock: Clock;
  /** Counts series that were answered without being fetched. */
  readonly count: CountSeries;
  /** What whole answers that were sent may take in memory. */
  readonly answerBytes: number;
}

/**
 * A whole answer, kept by the very text of its question: dashboards that poll send the same bytes again and again. It is one for which
 * no store was read, so that it says the truth with `is_cached`. In [since, until), Unix ms, the question has it again.
 */
interface Answer {
  readonly body: Buffer;
  /** How many. */
  readonly series: number;
  readonly since: number;
  readonly until: number;
}

/** One answer takes no more of the memory for answers, bytes. */
const LARGEST_BODY = 1_048_576;

/** What a series takes in an answer, and an answer besides, roughly, bytes. */
const ENTRY_BYTES = 300;

/** Reading of metrics, by query or by body. */
export function metricRoutes({
  fetch,
  epochs,
  limits,
  memory,
  clock,
  count,
  answerBytes,
}: MetricParts): readonly Route[] {
  const answers = new TokenCache<Answer>(
    epochs,
    answerBytes,
    ({ body, series }, question) => body.byteLength + question.length + ENTRY_BYTES * (1 + series),
  );
  const readingOf = ({ res }: ApiContext) => memory.open((then) => whenOut(res, then));

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
      wireNames: seriesNames,
      responses: {
        200: orCsv(metricAnswer),
        304: empty("Nothing has changed since the answer of `If-None-Match`."),
      },
      async handler({ ctx, query: { format, ...asked } }) {
        const isCsv = wantsCsv(ctx, format);
        const { series } = await fetch([readMetricQuery(asked)], clock(), readingOf(ctx));
        ctx.status = 200;
        ctx.set("Cache-Control", "private, no-cache");
        ctx.vary(["Authorization", "Accept", "Accept-Encoding"]);
        ctx.set("ETag", metricTag(series, isCsv ? "csv" : "json"));
        if (isNotModified(ctx)) ctx.status = 304;
        else if (isCsv) sendCsv(ctx, series);
        else send(ctx, metricBody(series));
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
          "An object, or an array of up to 100. Answers come in the order of the requests; an item that is wrong comes back in its place with `errors`. `format=csv` or `Accept: text/csv` asks for CSV; an item that is wrong is then 400.",
      },
      query: formatQuery,
      stream: { "application/json": { schema: SeriesRequests, examples: () => requestExamples } },
      wireNames: seriesNames,
      responses: { 200: orCsv(metricBatchAnswer) },
      async handler({ ctx, query: { format } }) {
        ctx.set("Cache-Control", "no-store");
        ctx.vary("Accept");
        refuseUnlessJson(ctx);
        // The text itself is what an answer is found by: only a text that is met for the first time is parsed.
        const question = await readText(ctx, limits.body_bytes);
        const now = clock();
        if (wantsCsv(ctx, format)) {
          const { series } = await fetch(readMetricBody(question, limits), now, readingOf(ctx));
          sendCsv(ctx, series);
          return;
        }
        const known = answers.get(question)?.value;
        if (known !== undefined && now >= known.since && now < known.until) {
          count(known.series, known.series);
          send(ctx, known.body);
          return;
        }
        const { series, reuse } = await fetch(readMetricBody(question, limits), now, readingOf(ctx));
        const body = metricBody(series);
        if (reuse !== undefined && body.byteLength <= LARGEST_BODY) {
          const value = { body, series: series.length, since: now, until: reuse.until };
          answers.keep(question, { value, token: reuse.token });
        }
        send(ctx, body);
      },
    }),
  ];
}

function send(ctx: ApiContext, body: Buffer): void {
  ctx.status = 200;
  ctx.type = "application/json";
  ctx.body = body;
}

const requestExamples = {
  one: { ...exampleSeries, range: "2d", interval: "2h" },
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
