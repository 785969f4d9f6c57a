import { Type } from "@sinclair/typebox";
import { ServiceError } from "../../errors.js";
import { dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { isInWindow, isSeries } from "../../metrics/writable-points.js";
import { mediaType, readText } from "../body.js";
import { oneOf } from "../responses.js";
import type { ApiContext } from "../route.js";
import { type Issues, unknownFields } from "../validation.js";
import { parseBody, readBlock } from "./block-points.js";
import { type PointReader, type PointsRead, readEachLine, readInstant, type WriteLimits } from "./point-reader.js";

const series = {
  dimension: oneOf(dimensionNames, { title: "Dimension" }),
  dimension_id: Type.String({
    minLength: 1,
    maxLength: 256,
    description: "No control characters, not ending in a backslash.",
  }),
  dimension_type: oneOf([...new Set(dimensions.flatMap(({ storedTypes }) => storedTypes))]),
};

const PointTime = Type.Unsafe<number | string>({
  title: "PointTime",
  description: "Unix milliseconds; moved down to the start of its slot.",
  oneOf: [Type.Integer(), Type.String({ pattern: "^[0-9]{1,16}$" })],
});

export const Point = Type.Object(
  { ...series, value: Type.Number(), ts: PointTime },
  { title: "Point", description: "The value of one series in one slot.", additionalProperties: false },
);

export const Block = Type.Object(
  {
    series: Type.Array(Type.Object(series, { title: "Series", additionalProperties: false }), { minItems: 1 }),
    ts: Type.Array(PointTime, { minItems: 1 }),
    values: Type.Array(Type.Array(Type.Unsafe<number | null>({ type: ["number", "null"] })), { minItems: 1 }),
  },
  {
    title: "PointBlock",
    description: "The fast form: one list of values for each series, one number or null in it for each ts.",
    additionalProperties: false,
  },
);

/** A body of type `application/json`, for the document. */
export const PointsBody = Type.Unsafe<unknown>({ oneOf: [Type.Array(Point, { minItems: 1 }), Block] });

/** `data` of the response to a write. */
export const PointTally = Type.Object(
  { point_count: Type.Integer({ minimum: 1, description: "Points written." }) },
  { title: "PointTally" },
);

const POINT_FIELDS = ["dimension", "dimension_id", "dimension_type", "value", "ts"];

/** The points of a request to `/api/metric/points`. Throws when one of them is wrong: then none is written. */
export async function readJsonPoints(ctx: ApiContext, reader: PointReader, limits: WriteLimits): Promise<PointsRead> {
  const type = mediaType(ctx);
  if (type === "application/x-ndjson" || type === "application/ndjson") {
    await readEachLine(ctx, limits, reader, (text, number) => readJsonLine(text, number, reader));
    return reader.finish();
  }
  if (type !== "application/json") {
    throw new ServiceError("unsupported-media", "The body must be application/json or application/x-ndjson in UTF-8");
  }
  const parsed = parseBody(await readText(ctx, limits.write_body_bytes), reader.series);
  const { body } = parsed;
  if (!Array.isArray(body)) return readBlock(parsed, reader);
  reader.count(body.length);
  for (let i = 0; i < body.length && !reader.issues.full; i += 1) readPoint(body[i], () => `[${i}]`, reader);
  return reader.finish();
}

function readJsonLine(text: string, number: number, reader: PointReader): void {
  reader.count(1);
  let point: unknown;
  try {
    point = JSON.parse(text);
  } catch {
    reader.issues.add("not_json", `line ${number}`, "The line is not JSON");
    return;
  }
  readPoint(point, () => `line ${number}`, reader);
}

/** Takes one point `{ dimension, dimension_id, dimension_type, value, ts }`; `path` says where it stands in the body. */
function readPoint(point: unknown, path: () => string, { series, window, fold, issues }: PointReader): void {
  if (typeof point !== "object" || point === null || Array.isArray(point)) {
    issues.add("not_an_object", path(), "A point is an object");
    return;
  }
  const { dimension, dimension_id, dimension_type, value, ts } = point as Record<string, unknown>;
  const found = series.find(dimension, dimension_id, dimension_type);
  if (
    isSeries(found) &&
    typeof ts === "number" &&
    Number.isInteger(ts) &&
    isInWindow(ts, found.dimension.slotMs, window) &&
    typeof value === "number" &&
    Number.isFinite(value) &&
    Object.keys(point).length === POINT_FIELDS.length
  ) {
    fold.add(found, ts, value);
    return;
  }
  const at = path();
  const before = issues.count;
  unknownFields(point, POINT_FIELDS, at, issues);
  if (!isSeries(found)) issues.add(found.code, `${at}.${found.field}`, found.message);
  const amount = readValue(value, `${at}.value`, issues);
  const slotMs = isSeries(found) ? found.dimension.slotMs : 1;
  const instant = readInstant(ts, { window, slotMs }, `${at}.ts`, issues);
  if (issues.count === before && isSeries(found)) fold.add(found, instant, amount);
}

/** The finite number that `value` is; NaN with an issue otherwise. */
function readValue(value: unknown, path: string, issues: Issues): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  issues.add(value === undefined || value === null ? "required" : "bad_value", path, "A finite number is expected");
  return Number.NaN;
}
