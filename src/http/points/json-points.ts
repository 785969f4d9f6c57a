import { Type } from "@sinclair/typebox";
import { type JsonArray, splitArray } from "../../formats/json-array.js";
import { lineNotJson } from "../../formats/json-error.js";
import { NO_SOURCE, sourceNumber } from "../../metrics/added-points.js";
import { dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { EARLIEST_POINT_MS, isInWindow, isSeries, writableSeries } from "../../metrics/writable-points.js";
import { isJsonLines, readBody } from "../core/body.js";
import { notJson } from "../core/json-body.js";
import { oneOf } from "../core/responses.js";
import type { ApiContext } from "../core/route.js";
import { type Issues, unknownFields } from "../core/validation.js";
import { readBlock } from "./block-points.js";
import {
  isSource,
  MAX_SOURCE_LENGTH,
  type PointReader,
  readEachLine,
  readElements,
  readInstant,
  reservePoints,
  type WriteLimits,
} from "./point-reader.js";
import { readPointsFastPath } from "./points-fast-path.js";

const series = {
  dimension: oneOf(dimensionNames, { title: "Dimension" }),
  dimension_id: Type.String({
    minLength: 1,
    maxLength: 256,
    description: "No control characters, not ending in a backslash.",
  }),
  dimension_type: oneOf([...new Set(dimensions.flatMap(({ storedTypes }) => storedTypes))]),
};

export const Point = Type.Object(
  {
    ...series,
    source: Type.Optional(
      Type.String({
        maxLength: MAX_SOURCE_LENGTH,
        description:
          "Only with `mode=add`: points of one `ts` from different sources are different points. No control characters.",
      }),
    ),
    value: Type.Number(),
    ts: Type.Unsafe<number | string>({
      type: "integer",
      minimum: EARLIEST_POINT_MS,
      description: "Unix milliseconds, also as a string of digits; moved down to the start of its slot.",
    }),
  },
  { title: "Point", description: "A value of one series.", additionalProperties: false },
);

/**
 * Documented body of type `application/json`, without the block: client generators fail on a choice between an array
 * and an object.
 */
export const pointsBody = (most: number) => Type.Array(Point, { minItems: 1, maxItems: most });

/** `data` of the response to a write. */
export const PointTally = Type.Object(
  { point_count: Type.Integer({ minimum: 1, description: "Points written." }) },
  { title: "PointTally" },
);

const POINT_FIELDS = ["dimension", "dimension_id", "dimension_type", "value", "ts"];
const SOURCED_FIELDS = [...POINT_FIELDS, "source"];

/**
 * Reads the points of a request to `/api/metric/points`, and resolves with their number. Rejects when any point is
 * invalid; then none is written.
 */
export async function readJsonPoints(ctx: ApiContext, reader: PointReader, limits: WriteLimits): Promise<number> {
  if (isJsonLines(ctx)) {
    await readEachLine(ctx, limits, reader, (text, number) => readJsonLine(text, number, reader));
    return reader.finish();
  }
  const { memory } = ctx.state;
  const bytes = await readBody(ctx, limits.write_body_bytes);
  reservePoints(bytes.length, limits, memory);
  const usual = await readPointsFastPath(bytes, reader, limits.batch_points);
  if (usual !== undefined) return usual;
  reader.sink = reader.newSink();
  const array = splitArray(bytes, limits.batch_points);
  if (array === undefined) await readBlock(bytes, memory, reader, limits);
  else await readArray(array, reader);
  return reader.finish();
}

async function readArray(array: JsonArray, reader: PointReader): Promise<void> {
  const { bytes, ends, brokenAt } = array;
  reader.count(ends.length);
  await readElements(array, "", reader, (point, i) => {
    readPoint(point, () => `[${i}]`, reader);
  });
  if (brokenAt !== undefined && !reader.issues.full) throw notJson(bytes.toString("utf8", 0, brokenAt));
}

function readJsonLine(text: string, number: number, reader: PointReader): void {
  reader.count(1);
  let point: unknown;
  try {
    point = JSON.parse(text);
  } catch {
    reader.issues.add("not_json", `line ${number}`, lineNotJson(text));
    return;
  }
  readPoint(point, () => `line ${number}`, reader);
}

/**
 * Adds one point `{ dimension, dimension_id, dimension_type, value, ts }`, which may have a `source`; `path` returns
 * its position in the body.
 */
function readPoint(point: unknown, path: () => string, reader: PointReader): void {
  const { window, sink, issues, hasSources } = reader;
  if (typeof point !== "object" || point === null || Array.isArray(point)) {
    issues.add("not_an_object", path(), "A point must be an object");
    return;
  }
  const { dimension, dimension_id, dimension_type, value, ts, source } = point as Record<string, unknown>;
  const found = writableSeries(dimension, dimension_id, dimension_type);
  if (
    isSeries(found) &&
    typeof ts === "number" &&
    Number.isInteger(ts) &&
    isInWindow(ts, found.dimension.slotMs, window) &&
    typeof value === "number" &&
    Number.isFinite(value) &&
    Object.keys(point).length === POINT_FIELDS.length
  ) {
    sink.add(found, ts, value);
    return;
  }
  const at = path();
  const before = issues.count;
  unknownFields(point, hasSources || source === null ? SOURCED_FIELDS : POINT_FIELDS, at, issues);
  if (!isSeries(found)) issues.add(found.code, `${at}.${found.field}`, found.message);
  const amount = readValue(value, `${at}.value`, issues);
  const slotMs = isSeries(found) ? found.dimension.slotMs : 1;
  const instant = readInstant(ts, { window, slotMs }, `${at}.ts`, issues);
  const from = readSource(source, `${at}.source`, issues);
  if (issues.count === before && isSeries(found)) sink.add(found, instant, amount, 0, from);
}

/** Returns the number of an optional source; `NO_SOURCE` if it is invalid, and adds an issue. */
function readSource(source: unknown, path: string, issues: Issues): number {
  if (source === undefined || source === null) return NO_SOURCE;
  if (isSource(source)) return sourceNumber(source);
  issues.add(
    "invalid_source",
    path,
    `source must be a text of at most ${MAX_SOURCE_LENGTH} characters, none of them a control character`,
  );
  return NO_SOURCE;
}

/** Returns a finite number; otherwise NaN and adds an issue. */
function readValue(value: unknown, path: string, issues: Issues): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (value === undefined || value === null) issues.add("required", path, "value is required");
  else issues.add("invalid_value", path, "value must be a finite number");
  return Number.NaN;
}
