import type { Clock } from "../../clock.js";
import type { FetchBatch } from "../../metrics/fetch-batch.js";
import type { Api, ApiContext } from "../api-router.js";
import { metricBody, metricTag } from "../metric-answer.js";
import { type MetricReadLimits, readMetricBody, readMetricQuery } from "../read-metric.js";

export interface MetricParts {
  readonly fetch: FetchBatch;
  readonly limits: MetricReadLimits;
  readonly clock: Clock;
}

/** Reading of metrics, by query or by body. */
export function metricRoutes(api: Api, { fetch, limits, clock }: MetricParts): void {
  api.add("GET", "/api/metric", ["metric:read"], async (ctx) => {
    const answers = await fetch([readMetricQuery(ctx, limits)], clock());
    ctx.status = 200;
    ctx.set("Cache-Control", "private, no-cache");
    ctx.vary(["Authorization", "Accept-Encoding"]);
    ctx.set("ETag", metricTag(answers));
    if (ctx.fresh) ctx.status = 304;
    else send(ctx, metricBody(answers));
  });

  api.add("POST", "/api/metric", ["metric:read"], async (ctx) => {
    const items = await readMetricBody(ctx, limits);
    const answers = await fetch(items, clock());
    ctx.status = 200;
    ctx.set("Cache-Control", "no-store");
    send(ctx, metricBody(answers));
  });
}

function send(ctx: ApiContext, body: Buffer): void {
  ctx.type = "application/json";
  ctx.body = body;
}
