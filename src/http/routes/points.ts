import type { Clock } from "../../clock.js";
import { type ErrorKind, ServiceError } from "../../errors.js";
import type { RecordPoints } from "../../metrics/record-points.js";
import { writeWindow } from "../../metrics/write-window.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { errorResponse } from "../error-response.js";
import { readLinePoints } from "../read-line-points.js";
import { readPoints, type WriteLimits } from "../read-points.js";

export interface PointParts {
  readonly record: RecordPoints;
  readonly limits: WriteLimits;
  /** How long the store keeps points, ms; undefined is for ever. */
  readonly keep: number | undefined;
  readonly clock: Clock;
}

/** Writing of points, as JSON and as line protocol. An answer of 2xx means that they are durable and visible. */
export function pointRoutes(api: Api, { record, limits, keep, clock }: PointParts): void {
  api.add("POST", "/api/metric/points", ["metric:write"], async (ctx) => {
    const { count, columns } = await readPoints(ctx, writeWindow(clock(), keep), limits);
    await record(columns);
    succeed(ctx, { point_count: count });
  });

  api.add("POST", "/api/v2/write", ["metric:write"], (ctx) =>
    withInfluxCode(ctx, async () => {
      const now = clock();
      const { columns } = await readLinePoints(ctx, now, writeWindow(now, keep), limits);
      await record(columns);
      ctx.status = 204;
    }),
  );
}

/** What InfluxDB calls these kinds of error; its clients look at nothing else in the body. */
const influxCodes: Partial<Record<ErrorKind, string>> = {
  invalid: "invalid",
  "too-large": "request too large",
  "unsupported-media": "unsupported media type",
  unavailable: "unavailable",
  "out-of-space": "unavailable",
};

/** Adds InfluxDB's `code` to the body of an error that the work ends with. */
async function withInfluxCode(ctx: ApiContext, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { status, headers, body } = errorResponse(error);
    ctx.status = status;
    ctx.set(headers);
    ctx.body = { ...body, code: influxCodes[error.kind] ?? "internal error" };
  }
}
