import { type TSchema, Type } from "@sinclair/typebox";
import type { CacheMemory } from "../../cache-memory.js";
import type { Clock } from "../../clock.js";
import type { ErrorKind } from "../../errors.js";
import { precisions } from "../../formats/line-protocol.js";
import type { KeyBounds } from "../../keys/api-key.js";
import { AddedFold } from "../../metrics/added-points.js";
import { stream } from "../../metrics/dimensions.js";
import type { AddedPoints, Series, SlotColumn } from "../../metrics/series.js";
import { PointFold } from "../../metrics/slot-columns.js";
import { addWindow, writeWindow } from "../../metrics/writable-points.js";
import { exampleNames } from "../core/openapi.js";
import { empty, oneOf, success } from "../core/responses.js";
import { type ApiContext, type Route, route, type Within } from "../core/route.js";
import { outOfBound } from "../keys/bounds.js";
import { PointTally, pointsBody, readJsonPoints } from "./json-points.js";
import { readLinePoints } from "./line-points.js";
import { type PointReader, pointReaders, type WriteLimits } from "./point-reader.js";

export interface PointDependencies {
  /** Version of this package. */
  readonly version: string;
  /** Stores slots written by clients; resolves when they are durable and visible. */
  write(columns: readonly SlotColumn[]): Promise<void>;
  /** Stores points that are added to their slots; resolves when they are durable and visible. */
  add(added: readonly AddedPoints[]): Promise<void>;
  /** Counts stored points. */
  countPoints(points: number): void;
  readonly limits: WriteLimits;
  /** Returns the retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
  readonly clock: Clock;
  /** Memory of the series that writes repeat. */
  readonly cache: CacheMemory;
}

const precision = oneOf(precisions, {
  default: "ns",
  description: "Unit of the timestamps.",
  issue: { code: "invalid_precision", message: `precision must be one of ${precisions.join(", ")}` },
});

const mode = Type.Optional(
  oneOf(["add"], {
    description:
      "`add`: each value is added to its slot. A point is identified by its series, `source` and `ts`; sending it again replaces it.",
    issue: { code: "invalid_mode", message: "mode must be add" },
  }),
);

/** Every write of points compares its series with the bound in `writeAll`. */
const within: Within = { stream: () => true };

/**
 * Routes that write points, as JSON and in line protocol, and the ping that clients of InfluxDB send first. A 2xx
 * response means that the points are durable and visible.
 */
export function pointRoutes({
  version,
  write,
  add,
  countPoints,
  limits,
  retention,
  clock,
  cache,
}: PointDependencies): readonly Route[] {
  const readerOf = pointReaders(limits, cache);
  const examples = pointExamples(clock());

  /** Reads and writes points, unless one is outside the stream that the key is bound to. Resolves with their number. */
  async function writeAll(
    { state: { bounds } }: ApiContext,
    { adds, now }: { readonly adds: boolean; readonly now: number },
    read: (reader: PointReader) => Promise<number>,
  ): Promise<number> {
    let count: number;
    if (adds) {
      const window = addWindow(now, retention());
      const reader = readerOf({ newSink: () => new AddedFold(), window, hasSources: true });
      count = await read(reader);
      await add(withinBound(reader.sink.points(), bounds));
    } else {
      const window = writeWindow(now, retention());
      const reader = readerOf({ newSink: () => new PointFold(), window, hasSources: false });
      count = await read(reader);
      await write(withinBound(reader.sink.columns(), bounds));
    }
    countPoints(count);
    return count;
  }

  return [
    route({
      method: "POST",
      path: "/api/metric/points",
      scopes: ["metric:write"],
      within,
      docs: {
        id: "writePoints",
        tag: "metrics",
        summary: "Write points in JSON",
        description:
          "Use it to write your own series. All points are written or none; errors contain positions. A 200 means durable and visible. Safe to repeat. " +
          'A block instead of the array is faster: `{ "series": [{ dimension, dimension_id, dimension_type }], ' +
          '"ts": [..], "values": [[one number or null for each ts] for each series] }`. Errors: 400 `not_points`, `invalid_time`, `invalid_value`, `unknown_field`, `empty`; 403 `forbidden` if the key is bound to a stream and a point is of another series; 413 `too_large`; 507 `out_of_space`.',
      },
      query: { mode },
      stream: {
        "application/json": { schema: pointsBody(limits.batch_points), examples },
        "application/x-ndjson": {
          schema: Type.String({ description: "One JSON point per line." }),
          examples: { lines: examples.points.map((point) => JSON.stringify(point)).join("\n") },
        },
      },
      responses: { 200: success("PointsAnswer", PointTally) },
      async handler({ ctx, query: { mode } }) {
        const how = { adds: mode === "add", now: clock() };
        const count = await writeAll(ctx, how, (reader) => readJsonPoints(ctx, reader, limits));
        return { data: { point_count: count } };
      },
    }),
    route({
      method: "POST",
      path: "/api/v2/write",
      scopes: ["metric:write"],
      within,
      docs: {
        id: "writeLineProtocol",
        tag: "metrics",
        summary: "Write points in line protocol",
        description:
          "Use it with Telegraf and clients of InfluxDB 2: the measurement is the dimension, the tags are `dimension_id` and `dimension_type` (default: size), the field is `value`. " +
          "Plain or gzip. All points are written or none; the message of an error contains the first invalid line and its issue. " +
          "`application/x-www-form-urlencoded`, the default of `curl --data-binary`, counts as plain text. Errors: 400 `not_line_protocol`, `invalid_precision`; 403 `forbidden` if the key is bound to a stream and a point is of another series; 413 `too_large`; 507 `out_of_space`.",
      },
      query: {
        precision,
        bucket: Type.Optional(
          Type.String({ description: "`add`: each point is added to its slot. Any other name is ignored." }),
        ),
        ...ignored,
      },
      stream: {
        "text/plain": { schema: lineText(), examples: lineExamples },
        "application/octet-stream": { schema: lineText({ format: "binary" }), examples: lineExamples },
      },
      responses: { 204: empty() },
      protocolErrors: { code: (kind) => influxCodes[kind] ?? "internal error" },
      async handler({ ctx, query: { precision, bucket } }) {
        const now = clock();
        const how = { adds: bucket === ADDING_BUCKET, now };
        await writeAll(ctx, how, (reader) => readLinePoints(ctx, { now, precision }, reader, limits));
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
        summary: "Check that line protocol is available",
        description:
          "Clients of InfluxDB use it before they write. The header `X-Influxdb-Version` contains the name and version of this service.",
      },
      responses: { 204: empty() },
      handler({ ctx }) {
        ctx.set({ "X-Influxdb-Version": `entity-metrics-${version}`, "Cache-Control": "no-store" });
        ctx.status = 204;
      },
    }),
  ];
}

/** Returns the points. Throws if one is outside the stream that the key is bound to. */
function withinBound<T extends { readonly series: Series }>(points: readonly T[], bounds: KeyBounds): readonly T[] {
  const isWithin = ({ series }: T) => series.dimension === stream && series.id === bounds.stream;
  if (bounds.stream !== undefined && !points.every(isWithin)) throw outOfBound("stream");
  return points;
}

/** The bucket whose points are added. */
const ADDING_BUCKET = "add";

/** Parameters that InfluxDB's clients also send with a write. */
const ignored = Object.fromEntries(
  ["org", "orgID", "consistency"].map((name): [string, TSchema] => [
    name,
    Type.Optional(Type.String({ description: "Ignored." })),
  ]),
);

/** InfluxDB's codes for kinds of errors; its clients read little else in a body. */
const influxCodes: Partial<Record<ErrorKind, string>> = {
  invalid: "invalid",
  unauthenticated: "unauthorized",
  forbidden: "forbidden",
  "too-large": "request too large",
  "too-many-requests": "too many requests",
  "unsupported-media": "unsupported media type",
  busy: "unavailable",
  unavailable: "unavailable",
  "out-of-space": "unavailable",
};

const { audience, goal } = exampleNames;

/** Points at `ts`, Unix ms: stores may refuse old ones. */
function pointExamples(ts: number) {
  const series = { dimension: "segment", dimension_id: audience, dimension_type: "size", ts };
  return {
    points: [
      { ...series, value: 42 },
      { ...series, dimension_id: goal, value: 7 },
    ],
  };
}

const lineText = (options = {}) =>
  Type.String({ minLength: 1, description: "One point in line protocol per line.", ...options });

/** Line protocol without a timestamp, which means now. */
const lineExamples = {
  lines: `segment,dimension_id=${audience} value=42\nsegment,dimension_id=${goal} value=7`,
};
