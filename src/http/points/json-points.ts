import { type Static, Type } from "@sinclair/typebox";
import { invalid, ServiceError } from "../../errors.js";
import { dimensionNames, dimensions } from "../../metrics/dimensions.js";
import type { Series, SlotColumn } from "../../metrics/series.js";
import { layOut, PointFold, type SlotLayout, slotLayout } from "../../metrics/slot-columns.js";
import {
  instantIssue,
  isInWindow,
  isSeries,
  type WritableSeries,
  type WriteWindow,
} from "../../metrics/writable-points.js";
import { mediaType, parseJson, readText } from "../body.js";
import { oneOf } from "../responses.js";
import type { ApiContext } from "../route.js";
import { compile, type Issues, unknownFields } from "../validation.js";
import { NOTHING_WRITTEN, type PointReader, type PointsRead, readEachLine, type WriteLimits } from "./point-reader.js";

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

/** The block without its lists' items: these are checked where they are read, at a hundred times the speed. */
const PointBlock = Type.Object(
  {
    series: Type.Array(Type.Unknown(), { minItems: 1 }),
    ts: Type.Array(Type.Unknown(), { minItems: 1 }),
    values: Type.Array(Type.Unknown()),
  },
  { additionalProperties: false },
);

export type PointBlock = Static<typeof PointBlock>;

/** `data` of the response to a write. */
export const PointTally = Type.Object(
  { point_count: Type.Integer({ minimum: 1, description: "Points written." }) },
  { title: "PointTally" },
);

const POINT_FIELDS = ["dimension", "dimension_id", "dimension_type", "value", "ts"];

const SERIES_FIELDS = ["dimension", "dimension_id", "dimension_type"];

const BLOCK_FIELDS = Object.keys(PointBlock.properties);

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

interface ParsedBody {
  readonly body: unknown;
  /** The text of a block's list of series. */
  readonly list?: string;
  /** The series that it names, when an earlier block began with it. */
  readonly known?: readonly Series[] | undefined;
}

const BLOCK_START = '{"series":[';
const LIST_END = '],"ts":';

/** What a body says. A list of series that an earlier block began with, in the same words, is not parsed again. */
function parseBody(text: string, series: WritableSeries): ParsedBody {
  const end = text.startsWith(BLOCK_START) ? text.indexOf(LIST_END) : -1;
  if (end >= 0) {
    const list = text.slice(BLOCK_START.length - 1, end + 1);
    const known = series.listNamed(list);
    try {
      const rest = JSON.parse(`{${text.slice(end + 2)}`) as object;
      // Without a second list of series: of two the later counts.
      if (Object.keys(rest).join() === "ts,values")
        return { body: { series: known ?? JSON.parse(list), ...rest }, list, known };
    } catch {
      // The text was divided at another place, or is not JSON: the whole of it tells.
    }
  }
  return { body: parseJson(text) };
}

const isBlock = compile(PointBlock);

/** Reads a block `{ series, ts, values }`. */
function readBlock({ body, list, known }: ParsedBody, reader: PointReader): PointsRead {
  const { issues, window } = reader;
  if (typeof body === "object" && body !== null && BLOCK_FIELDS.some((name) => Object.hasOwn(body, name))) {
    unknownFields(body, BLOCK_FIELDS, "", issues);
    issues.throwIfAny(NOTHING_WRITTEN);
  }
  if (!isBlock(body))
    throw invalid("not_points", "", "An array of points, or a block of series, ts and values, is expected");
  const { ts, values } = body;
  const series = known ?? readSeries(body.series, reader);
  const slotMs = Math.max(1, ...new Set(series.map((one) => one?.dimension.slotMs ?? 1)));
  const times = ts.map((instant, i) => readInstant(instant, { window, slotMs }, `ts[${i}]`, issues));
  const counts: number[] = [];
  if (values.length === series.length) {
    for (const [i, row] of values.entries()) {
      const given = countValues(row, ts.length, i, issues);
      counts.push(given);
      reader.count(given);
    }
  } else issues.add("bad_length", "values", "One list of values for each series is expected");
  const { count } = reader.finish();
  if (list !== undefined && known === undefined) reader.series.nameList(list, series as Series[]);
  return { count, columns: columnsOf(series, times, values as (number | null)[][], counts) };
}

function readSeries(list: readonly unknown[], { series: known, issues }: PointReader): (Series | undefined)[] {
  return list.map((item, i) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      issues.add("not_an_object", `series[${i}]`, "A series is an object");
      return undefined;
    }
    const { dimension, dimension_id, dimension_type } = item as Record<string, unknown>;
    const found = known.find(dimension, dimension_id, dimension_type);
    if (Object.keys(item).length !== SERIES_FIELDS.length) unknownFields(item, SERIES_FIELDS, `series[${i}]`, issues);
    if (isSeries(found)) return found;
    issues.add(found.code, `series[${i}].${found.field}`, found.message);
    return undefined;
  });
}

/** How many values a row has; anything but a finite number or null is an issue. */
function countValues(row: unknown, length: number, index: number, issues: Issues): number {
  if (!Array.isArray(row) || row.length !== length) {
    issues.add("bad_length", `values[${index}]`, "A list of one number or null for each ts is expected");
    return 0;
  }
  let count = 0;
  for (let i = 0; i < length && !issues.full; i += 1) {
    const value: unknown = row[i];
    if (typeof value === "number" && Number.isFinite(value)) count += 1;
    else if (value !== null) issues.add("bad_value", `values[${index}][${i}]`, "A finite number or null is expected");
  }
  return count;
}

/** Slots that a row may take in the layout of all rows for each of its values; one that would take more is laid out by itself. */
const SLOTS_OF_VALUE = 32;

/** `counts` are the values of each row. */
function columnsOf(
  series: readonly (Series | undefined)[],
  times: readonly number[],
  rows: readonly (number | null)[][],
  counts: readonly number[],
): SlotColumn[] {
  const layouts = new Map<number, SizedLayout>();
  const columns: SlotColumn[] = [];
  for (const [i, one] of series.entries()) {
    if (one === undefined) continue;
    const { slotMs } = one.dimension;
    const sized = layouts.get(slotMs) ?? sizedLayout(times, slotMs);
    layouts.set(slotMs, sized);
    const row = rows[i] as (number | null)[];
    const isSparse = sized.slots > SLOTS_OF_VALUE * (counts[i] as number);
    columns.push(...(isSparse ? sparseColumns(one, times, row) : layOut(sized.layout, one, row)));
  }
  return columns;
}

interface SizedLayout {
  readonly layout: SlotLayout;
  /** What a row takes in it. */
  readonly slots: number;
}

function sizedLayout(times: readonly number[], slotMs: number): SizedLayout {
  const layout = slotLayout(times, slotMs);
  return { layout, slots: layout.columns.reduce((sum, { length }) => sum + length, 0) };
}

function sparseColumns(series: Series, times: readonly number[], row: readonly (number | null)[]): SlotColumn[] {
  const fold = new PointFold();
  for (const [i, value] of row.entries()) if (value !== null) fold.add(series, times[i] as number, value);
  return fold.columns();
}

/** What an instant has to be: in the window, of a series whose slots are `slotMs` long. */
interface InstantRule {
  readonly window: WriteWindow;
  readonly slotMs: number;
}

const DIGITS = /^\d{1,16}$/;

/** The Unix ms that `ts` says, as a number or as the string that responses carry; NaN with an issue otherwise. */
function readInstant(ts: unknown, { window, slotMs }: InstantRule, path: string, issues: Issues): number {
  const ms = typeof ts === "string" && DIGITS.test(ts) ? Number(ts) : ts;
  if (typeof ms !== "number" || !Number.isSafeInteger(ms)) {
    const code = ts === undefined || ts === null ? "required" : "bad_time";
    issues.add(code, path, "A whole number of Unix milliseconds is expected");
    return Number.NaN;
  }
  if (isInWindow(ms, slotMs, window)) return ms;
  const { code, message } = instantIssue(ms, window);
  issues.add(code, path, message);
  return Number.NaN;
}

/** The finite number that `value` is; NaN with an issue otherwise. */
function readValue(value: unknown, path: string, issues: Issues): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  issues.add(value === undefined || value === null ? "required" : "bad_value", path, "A finite number is expected");
  return Number.NaN;
}
