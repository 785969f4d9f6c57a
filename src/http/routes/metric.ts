import type { Clock } from "../../clock.js";
import type { CountSeries } from "../../metrics/count-cached.js";
import type { Epochs } from "../../metrics/epochs.js";
import type { FetchBatch } from "../../metrics/fetch-batch.js";
import type { ReadMemory } from "../../metrics/read-memory.js";
import { AnswerCache } from "../answer-cache.js";
import type { Api, ApiContext } from "../api-router.js";
import { readJsonText } from "../body.js";
import { whenOut } from "../exchanges.js";
import { metricBody, metricTag } from "../metric-answer.js";
import { isNotModified } from "../not-modified.js";
import { fieldNames, type MetricReadLimits, readMetricBody, readMetricQuery } from "../read-metric.js";

export interface MetricParts {
  readonly fetch: FetchBatch;
  readonly epochs: Pick<Epochs, "areCurrent">;
  readonly limits: MetricReadLimits;
  /** What reads under way may take in memory. */
  readonly memory: ReadMemory;
  readonly clock: Clock;
  /** Told of series that were answered without being fetched. */
  readonly count: CountSeries;
  /** What whole answers that were sent may take in memory. */
  readonly answerBytes: number;
}

/** Reading of metrics, by query or by body. */
export function metricRoutes(
  api: Api,
  { fetch, epochs, limits, memory, clock, count, answerBytes }: MetricParts,
): void {
  const cache = new AnswerCache(epochs, answerBytes);
  const readingOf = ({ res }: ApiContext) => memory.open((then) => whenOut(res, then));

  const get = async (ctx: ApiContext) => {
    const { series } = await fetch([readMetricQuery(ctx)], clock(), readingOf(ctx));
    ctx.status = 200;
    ctx.set("Cache-Control", "private, no-cache");
    ctx.vary(["Authorization", "Accept-Encoding"]);
    ctx.set("ETag", metricTag(series));
    if (isNotModified(ctx)) ctx.status = 304;
    else send(ctx, metricBody(series));
  };
  api.add("GET", "/api/metric", ["metric:read"], get, { query: fieldNames });

  api.add("POST", "/api/metric", ["metric:read"], async (ctx) => {
    ctx.set("Cache-Control", "no-store");
    const question = await readJsonText(ctx, limits.body_bytes);
    const now = clock();
    const known = cache.get(question, now);
    if (known !== undefined) {
      count(known.tokens.length, known.tokens.length);
      send(ctx, known.body);
      return;
    }
    const batch = await fetch(await readMetricBody(question, limits), now, readingOf(ctx));
    const body = metricBody(batch.series);
    cache.keep(question, body, batch, now);
    send(ctx, body);
  });
}

function send(ctx: ApiContext, body: Buffer): void {
  ctx.status = 200;
  ctx.type = "application/json";
  ctx.body = body;
}
