import { type TSchema, Type } from "@sinclair/typebox";
import type { Clock } from "../../clock.js";
import type { ErrorKind } from "../../errors.js";
import { precisions } from "../../formats/line-protocol.js";
import type { SlotColumn } from "../../metrics/series.js";
import { writeWindow } from "../../metrics/writable-points.js";
import type { BodyParts } from "../core/body.js";
import { exampleNames } from "../core/openapi.js";
import { empty, oneOf, success } from "../core/responses.js";
import { type Route, route } from "../core/route.js";
import { PointTally, pointsBody, readJsonPoints } from "./json-points.js";
import { readLinePoints } from "./line-points.js";
import { pointReaders, type WriteLimits } from "./point-reader.js";

export interface PointParts {
  /** Of this package. */
  readonly version: string;
  /** Keeps slots that clients wrote; resolves when they are durable and visible. */
  record(columns: readonly SlotColumn[]): Promise<void>;
  /** Counts points that were kept. */
  taken(points: number): void;
  readonly limits: WriteLimits;
  readonly bodies: BodyParts;
  /** How long the store keeps points, ms; undefined is for ever. */
  keep(): number | undefined;
  readonly clock: Clock;
}

const precision = oneOf(precisions, {
  default: "ns",
  description: "Unit of the timestamps.",
  issue: { code: "bad_precision", message: `The precision is one of ${precisions.join(", ")}` },
});

/** Writing of points, as JSON and as InfluxDB's clients do, with the ping that they begin with. An answer of 2xx means that they are durable and visible. */
export function pointRoutes({ version, record, taken, limits, bodies, keep, clock }: PointParts): readonly Route[] {
  const readerOf = pointReaders(limits);
  return [
    route({
      method: "POST",
      path: "/api/metric/points",
      scopes: ["metric:write"],
      docs: {
        id: "writePoints",
        tag: "metrics",
        summary: "Write points",
        description:
          "All or nothing; errors name positions. A success is durable and visible. Repeating it changes nothing. " +
          'A block is taken instead of the array, too, and is faster: `{ "series": [{ dimension, dimension_id, dimension_type }], ' +
          '"ts": [..], "values": [[one number or null for each ts] for each series] }`.',
      },
      stream: {
        "application/json": { schema: pointsBody(limits.batch_points), examples: pointExamples },
        "application/x-ndjson": {
          schema: Type.String({ description: "A point in JSON on each line." }),
          examples: (hour) => ({
            lines: pointExamples(hour)
              .points.map((point) => JSON.stringify(point))
              .join("\n"),
          }),
        },
      },
      responses: { 200: success("PointsAnswer", PointTally) },
      async handler({ ctx }) {
        const { count, columns } = await readJsonPoints(ctx, readerOf(writeWindow(clock(), keep())), limits, bodies);
        await record(columns);
        taken(count);
        return { data: { point_count: count } };
      },
    }),
    route({
      method: "POST",
      path: "/api/v2/write",
      scopes: ["metric:write"],
      docs: {
        id: "writeLineProtocol",
        tag: "metrics",
        summary: "Write points in line protocol",
        description:
          "As InfluxDB 2 takes it: measurement = dimension, tags `dimension_id` and `dimension_type` (size when absent), field `value`. " +
          "Plain or gzip. All or nothing; the message of an error names the first bad line and what is wrong with it. " +
          "`application/x-www-form-urlencoded`, which `curl --data-binary` says unless told, is taken as plain text too.",
      },
      query: {
        precision,
        ...ignored,
      },
      stream: {
        "text/plain": { schema: lineText(), examples: lineExamples },
        "application/octet-stream": { schema: lineText({ format: "binary" }), examples: lineExamples },
      },
      responses: { 204: empty() },
      errorCode: (kind) => influxCodes[kind] ?? "internal error",
      async handler({ ctx, query: { precision } }) {
        const now = clock();
        const reader = readerOf(writeWindow(now, keep()));
        const { count, columns } = await readLinePoints(ctx, { now, precision }, reader, limits, bodies);
        await record(columns);
        taken(count);
        ctx.status = 204;
      },
    }),
    route({
      method: "GET",
      path: "/ping",
      scopes: "keyless",
      docs: {
        id: "pingLineProtocol",
        tag: "metrics",
        summary: "Whether line protocol is taken here",
        description:
          "What clients of InfluxDB ask before they write. The header `X-Influxdb-Version` names this service and its version.",
      },
      responses: { 204: empty() },
      handler({ ctx }) {
        ctx.set({ "X-Influxdb-Version": `entity-metrics-${version}`, "Cache-Control": "no-store" });
        ctx.status = 204;
      },
    }),
  ];
}

/** What InfluxDB's clients send besides with a write. */
const ignored = Object.fromEntries(
  ["org", "orgID", "bucket", "consistency"].map((name): [string, TSchema] => [
    name,
    Type.Optional(Type.String({ description: "Ignored." })),
  ]),
);

/** What InfluxDB calls a kind of error; its clients look at little else in a body. */
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

const { audience, goal } = exampleNames;

/** Stores may refuse old points, so they are of the hour. */
function pointExamples(hour: number) {
  const series = { dimension: "segment", dimension_id: audience, dimension_type: "size" };
  return {
    points: [
      { ...series, value: 42, ts: hour },
      { ...series, dimension_id: goal, value: 7, ts: hour },
    ],
  };
}

const lineText = (options = {}) =>
  Type.String({ minLength: 1, description: "A point in line protocol on each line.", ...options });

/** Line protocol without a time, which means now. */
const lineExamples = () => ({
  lines: `segment,dimension_id=${audience} value=42\nsegment,dimension_id=${goal} value=7`,
});
