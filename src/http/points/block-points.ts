import { type Static, Type } from "@sinclair/typebox";
import { invalid, ServiceError } from "../../errors.js";
import type { JsonSize } from "../../formats/json-size.js";
import type { Reservation } from "../../memory-budget.js";
import type { Series } from "../../metrics/series.js";
import { isSeries, type WritableSeries } from "../../metrics/writable-points.js";
import { parseJson, reserveParsed } from "../core/json-body.js";
import { compile, type Issues, unknownFields } from "../core/validation.js";
import { NOTHING_WRITTEN, type PointReader, readInstant, type WriteLimits } from "./point-reader.js";
import type { SeriesList } from "./series-lists.js";

/** The block without the items of its lists: these are validated while reading, 100 times as fast. */
const PointBlock = Type.Object(
  {
    series: Type.Array(Type.Unknown(), { minItems: 1 }),
    ts: Type.Array(Type.Unknown(), { minItems: 1 }),
    values: Type.Array(Type.Unknown()),
  },
  { additionalProperties: false },
);

const SERIES_FIELDS = ["dimension", "dimension_id", "dimension_type"];

const BLOCK_FIELDS = Object.keys(PointBlock.properties);

/** Objects, arrays and names of a block: fixed ones, and those per series (an object, three names and a row). */
const BLOCK_NODES = 7;
const SERIES_NODES = 5;

/** Throws when a body would be parsed to more series than a write may have points. */
function refuseManySeries({ nodes }: JsonSize, { batch_points }: Pick<WriteLimits, "batch_points">): void {
  if (nodes <= BLOCK_NODES + SERIES_NODES * batch_points) return;
  throw new ServiceError("too-large", `More than ${batch_points} series in one write`);
}

const isBlock = compile(PointBlock);

/** Begins the text of a block from which the list was cut. */
const CUT_LIST = '{"series":[null]';

/** Reads a block `{ series, ts, values }` and returns the number of its points. */
export function readBlock(bytes: Buffer, memory: Reservation, reader: PointReader, limits: WriteLimits): number {
  const known = reader.lists.find(bytes);
  reserveParsed(bytes.subarray(known?.end), memory, (size) => refuseManySeries(size, limits));
  const { series: list, ts, values } = blockOf(parseBlock(bytes, known), reader);
  const series = known?.series ?? readSeries(list, reader);
  readValues(series, ts, values, reader);
  const count = reader.finish();
  if (known === undefined) reader.lists.remember(bytes, series as readonly Series[]);
  return count;
}

/** Parses a block, without its list of series if that is known. Throws when it is not JSON. */
function parseBlock(bytes: Buffer, known: SeriesList | undefined): unknown {
  if (known === undefined) return parseJson(bytes.toString());
  try {
    return JSON.parse(CUT_LIST + bytes.toString("utf8", known.end));
  } catch {
    // The error has the position in the whole body.
    return parseJson(bytes.toString());
  }
}

/** Returns a parsed body as a block. Throws unless it is one; its items may still be invalid. */
function blockOf(body: unknown, { issues }: PointReader): Static<typeof PointBlock> {
  // A point also has a ts.
  if (typeof body === "object" && body !== null && (Object.hasOwn(body, "series") || Object.hasOwn(body, "values"))) {
    unknownFields(body, BLOCK_FIELDS, "", issues);
    issues.throwIfAny(NOTHING_WRITTEN);
  }
  if (isBlock(body)) return body;
  throw invalid("not_points", "", "The body must be an array of points, or a block of series, ts and values");
}

function readValues(
  series: readonly (Series | undefined)[],
  ts: readonly unknown[],
  values: readonly unknown[],
  reader: PointReader,
): void {
  const { issues, window } = reader;
  const slotMs = Math.max(1, ...new Set(series.map((one) => one?.dimension.slotMs ?? 1)));
  const times: number[] = [];
  for (let i = 0; i < ts.length && !issues.full; i += 1) {
    times.push(readInstant(ts[i], { window, slotMs }, `ts[${i}]`, issues));
  }
  if (values.length === series.length) {
    for (let i = 0; i < values.length && !issues.full; i += 1)
      readRow(values[i], i, { series: series[i], times }, reader);
  } else issues.add("invalid_length", "values", "values must have one list for each series");
}

/** Returns the series of a list, up to the last one whose issue can be reported. */
function readSeries(list: readonly unknown[], { series: known, issues }: PointReader): (Series | undefined)[] {
  const series: (Series | undefined)[] = [];
  for (let i = 0; i < list.length && !issues.full; i += 1) series.push(readOne(list[i], `series[${i}]`, known, issues));
  return series;
}

function readOne(item: unknown, path: string, known: WritableSeries, issues: Issues): Series | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    issues.add("not_an_object", path, "A series must be an object");
    return undefined;
  }
  const { dimension, dimension_id, dimension_type } = item as Record<string, unknown>;
  const found = known.find(dimension, dimension_id, dimension_type);
  if (Object.keys(item).length !== SERIES_FIELDS.length) unknownFields(item, SERIES_FIELDS, path, issues);
  if (isSeries(found)) return found;
  issues.add(found.code, `${path}.${found.field}`, found.message);
  return undefined;
}

/** Reads the values of a series at these times. Any element but a finite number or null is an issue. */
function readRow(
  row: unknown,
  index: number,
  { series, times }: { readonly series: Series | undefined; readonly times: readonly number[] },
  reader: PointReader,
): void {
  const { issues, sink } = reader;
  if (!Array.isArray(row) || row.length !== times.length) {
    issues.add("invalid_length", `values[${index}]`, "The list must have one number or null for each ts");
    return;
  }
  let count = 0;
  for (let i = 0; i < row.length && !issues.full; i += 1) {
    const value: unknown = row[i];
    if (typeof value === "number" && Number.isFinite(value)) count += 1;
    else if (value !== null)
      issues.add("invalid_value", `values[${index}][${i}]`, "The value must be a finite number or null");
  }
  reader.count(count);
  if (series !== undefined && issues.count === 0) sink.addRow(series, times, row);
}
