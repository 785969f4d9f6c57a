import { Readable } from "node:stream";
import { Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import { ServiceError, type ValidationIssue } from "../../errors.js";
import { csvRecord } from "../../formats/csv.js";
import type { Epochs } from "../../metrics/cache/epochs.js";
import type { FetchBatch, RefusedSeries } from "../../metrics/query/fetch-batch.js";
import type { CountSeries, FetchedSeries } from "../../metrics/query/fetch-series.js";
import type { SeriesPlan } from "../../metrics/query/series-plan.js";
import { type BodyParts, readBody, refuseUnlessJson, reservationOf } from "../body.js";
import { seriesNames } from "../errors.js";
import { reserveParsed } from "../json-body.js";
import { exampleNames } from "../openapi.js";
import { isNotModified, takesGzip, varyBy } from "../response-body.js";
import { empty, timeText } from "../responses.js";
import { type ApiContext, type Route, route } from "../route.js";
import { type Answer, Answers } from "./answers.js";
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
import { type MetricReadLimits, metricTag, readMetricBody, readMetricQuery, seriesLabel } from "./series-json.js";

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
  const answers = new Answers({ epochs, clock, count, bytes: answerBytes });

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
        const fetchAt = (now: number, plans?: readonly SeriesPlan[]) =>
          fetch(plans ?? [readMetricQuery(asked)], now, reservationOf(ctx, bodies));
        if (wantsCsv(ctx, format)) {
          const { series } = await fetchAt(clock());
          setTag(ctx, metricTag(series, "csv"));
          if (isNotModified(ctx)) ctx.status = 304;
          else sendCsv(ctx, series);
          return;
        }
        const answer = await answers.to({ text: `${QUERY}${ctx.querystring}`, tagged: true, fetch: fetchAt });
        setTag(ctx, answer.tag());
        if (isNotModified(ctx)) ctx.status = 304;
        else await send(ctx, answer);
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
      wireNames: seriesNames,
      responses: { 200: orCsv(metricBatchAnswer) },
      async handler({ ctx, query: { format } }) {
        ctx.res.setHeader("Cache-Control", "no-store");
        varyBy(ctx, "Accept");
        refuseUnlessJson(ctx);
        const body = await readBody(ctx, limits.body_bytes, bodies);
        const { bytes, memory } = body;
        reserveParsed(body);
        const fetchAt = (now: number, plans?: readonly SeriesPlan[]) =>
          fetch(plans ?? readMetricBody(bytes.toString(), limits), now, memory);
        if (wantsCsv(ctx, format)) sendCsv(ctx, (await fetchAt(clock())).series);
        // A kept answer is found by the bytes of the body: they are parsed only where there is none.
        else await send(ctx, await answers.to({ text: bytes.toString("latin1"), tagged: false, fetch: fetchAt }));
      },
    }),
  ];
}

/** Stands before the text of a query. It is no character of Latin-1, as which bodies are read, so no body has the same text. */
const QUERY = "\u{2192}";

function setTag(ctx: ApiContext, tag: string): void {
  ctx.res.setHeader("Cache-Control", "private, no-cache");
  varyBy(ctx, "Authorization, Accept, Accept-Encoding");
  ctx.res.setHeader("ETag", tag);
}

async function send(ctx: ApiContext, answer: Answer): Promise<void> {
  ctx.status = 200;
  ctx.res.setHeader("Content-Type", "application/json; charset=utf-8");
  if (answer.gzip === undefined || !takesGzip(ctx)) {
    ctx.body = answer.body();
    return;
  }
  ctx.body = await answer.gzip();
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

/** What is made at once, in characters. */
const PART = 65_536;

/** Sends the values of series as CSV. Throws when an item was refused: CSV has no place for what is wrong with it. */
function sendCsv(ctx: ApiContext, answers: readonly (FetchedSeries | RefusedSeries)[]): void {
  const issues = answers.flatMap((answer) => ("issue" in answer ? answer.issue : []));
  if (issues.length > 0) throw invalidItems(issues);
  ctx.status = 200;
  ctx.type = "text/csv; charset=utf-8";
  ctx.body = Readable.from(csvParts(answers as readonly FetchedSeries[]), { objectMode: false, highWaterMark: PART });
}

function invalidItems(issues: readonly ValidationIssue[]): ServiceError {
  const message = issues.length === 1 ? (issues[0] as ValidationIssue).message : "Some items cannot be answered";
  return new ServiceError("invalid", message, { issues });
}

const COLUMNS = ["name", "dimension", "dimension_id", "dimension_type", "ts", "value"];

/** The text in parts: the next one is made when the caller has taken the one before. */
function* csvParts(answers: readonly FetchedSeries[]): Generator<string> {
  let text = csvRecord(COLUMNS);
  for (const { plan, serialised } of answers) {
    const { asked, id, type } = plan.request;
    const names = csvRecord([seriesLabel(plan), asked.dimension, id, type]).trimEnd();
    const values: readonly { value: number; ts: string }[] = JSON.parse(serialised.json.toString("latin1"));
    for (const { value, ts } of values) {
      text += `${names},${timeText(Number(ts))},${value}\r\n`;
      if (text.length < PART) continue;
      yield text;
      text = "";
    }
  }
  yield text;
}
