import type { Clock } from "../../clock.js";
import type { ErrorKind } from "../../errors.js";
import type { SlotColumn } from "../../metrics/series.js";
import { writeWindow } from "../../metrics/write-window.js";
import type { Api, ApiContext } from "../api-router.js";
import { succeed } from "../envelope.js";
import { readLinePoints } from "../read-line-points.js";
import { readPoints, type WriteLimits } from "../read-points.js";

export interface PointParts {
  /** Of this package. */
  readonly version: string;
  /** Keeps slots that clients wrote; resolves when they are durable and visible. */
  record(columns: readonly SlotColumn[]): Promise<void>;
  readonly limits: WriteLimits;
  /** How long the store keeps points, ms; undefined is for ever. */
  keep(): number | undefined;
  readonly clock: Clock;
}

/** Writing of points, as JSON and as InfluxDB's clients do, with the ping that they begin with. An answer of 2xx means that they are durable and visible. */
export function pointRoutes(api: Api, { version, record, limits, keep, clock }: PointParts): void {
  api.add("POST", "/api/metric/points", ["metric:write"], async (ctx) => {
    const { count, columns } = await readPoints(ctx, writeWindow(clock(), keep()), limits);
    await record(columns);
    succeed(ctx, { point_count: count });
  });

  const write = async (ctx: ApiContext) => {
    const now = clock();
    const { columns } = await readLinePoints(ctx, now, writeWindow(now, keep()), limits);
    await record(columns);
    ctx.status = 204;
  };
  api.add("POST", "/api/v2/write", ["metric:write"], write, { errorCode: influxCode, query: WRITE_QUERY });

  api.add("GET", "/ping", "keyless", (ctx) => {
    ctx.set({ "X-Influxdb-Version": `entity-metrics-${version}`, "Cache-Control": "no-store" });
    ctx.status = 204;
  });
}

/** What InfluxDB's clients send with a write; `precision` alone is looked at. */
const WRITE_QUERY = ["precision", "org", "orgID", "bucket", "consistency"];

/** What InfluxDB calls a kind of error; its clients look at little else in a body. */
function influxCode(kind: ErrorKind): string {
  return influxCodes[kind] ?? "internal error";
}

const influxCodes: Partial<Record<ErrorKind, string>> = {
  invalid: "invalid",
  unauthenticated: "unauthorized",
  forbidden: "forbidden",
  "too-large": "request too large",
  "too-many-requests": "too many requests",
  "unsupported-media": "unsupported media type",
  unavailable: "unavailable",
  "out-of-space": "unavailable",
};
