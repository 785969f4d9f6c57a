import { invalid, ServiceError } from "../../errors.js";
import { type JsonArray, splitObject } from "../../formats/json-array.js";
import type { Reservation } from "../../memory-budget.js";
import type { Series } from "../../metrics/series.js";
import { isSeries, writableSeries } from "../../metrics/writable-points.js";
import { MAX_LINE_BYTES } from "../core/body.js";
import { parseRest } from "../core/json-body.js";
import { unknownFields } from "../core/validation.js";
import { NOTHING_WRITTEN, type PointReader, readElements, readInstant, type WriteLimits } from "./point-reader.js";

const SERIES_FIELDS = ["dimension", "dimension_id", "dimension_type"];

const BLOCK_FIELDS = ["series", "ts", "values"];

/** Bytes of a number with its comma and, if written one a line, its indent. */
const VALUE_BYTES = 64;

/**
 * Reads a block `{ series, ts, values }` list by list: the rest of it is parsed at once, the elements of its lists in
 * runs.
 */
export async function readBlock(
  bytes: Buffer,
  memory: Reservation,
  reader: PointReader,
  limits: WriteLimits,
): Promise<void> {
  const { series: list, ts, values } = listsOf(bytes, reader, limits);
  const series = await seriesOf(list, reader);
  const slotMs = Math.max(1, ...new Set(series.map((one) => one?.dimension.slotMs ?? 1)));
  const times: number[] = [];
  await readElements(ts, "ts", reader, (item, i) => {
    times.push(readInstant(item, { window: reader.window, slotMs }, `ts[${i}]`, reader.issues));
  });
  if (values.ends.length !== list.ends.length) {
    if (!reader.issues.full) reader.issues.add("invalid_length", "values", "values must have one list for each series");
    return;
  }
  const addRow = (row: unknown, i: number) => {
    const before = reader.counted;
    readRow(row, i, { series: series[i], times }, reader);
    memory.reserveUnlessSmall(VALUE_BYTES * (reader.counted - before));
  };
  await readElements(values, "values", reader, addRow, MAX_LINE_BYTES + VALUE_BYTES * times.length);
}

/** Returns the lists of a block. Throws unless the body is a block; the elements of its lists may still be invalid. */
function listsOf(
  bytes: Buffer,
  { issues }: PointReader,
  { batch_points }: WriteLimits,
): { readonly series: JsonArray; readonly ts: JsonArray; readonly values: JsonArray } {
  const block = splitObject(bytes, BLOCK_FIELDS, { limit: batch_points, restBytes: MAX_LINE_BYTES });
  const [series, ts, values] = BLOCK_FIELDS.map((name) => block.lists.get(name));
  const tooMany = [series, ts, values].some((list) => (list?.ends.length ?? 0) > batch_points);
  if (tooMany) throw new ServiceError("too-large", `More than ${batch_points} series or times in one write`);
  if (block.rest.length > MAX_LINE_BYTES) throw notPoints();
  const rest = parseRest(block);
  if (typeof rest !== "object" || rest === null) throw notPoints();
  // A point also has a ts.
  if (Object.hasOwn(rest, "series") || Object.hasOwn(rest, "values")) {
    unknownFields(rest, BLOCK_FIELDS, "", issues);
    issues.throwIfAny(NOTHING_WRITTEN);
  }
  const isSplit = Object.values(rest).every((list) => Array.isArray(list) && list.length === 0);
  if (!isSplit || !series?.ends.length || !ts?.ends.length || values === undefined) throw notPoints();
  return { series, ts, values };
}

function notPoints(): ServiceError {
  return invalid("not_points", "", "The body must be an array of points, or a block of series, ts and values");
}

/** Maximum bytes of a list whose series are cached, and the bytes of a cached series. */
const MAX_CACHED_BYTES = 1024 * 1024;
const SERIES_BYTES = 8;

/**
 * Returns the series of a list, cached by its text: a writer that repeats a list pays neither for parsing it nor for
 * finding its series. Stays because without it a write of blocks takes 1.1 to 1.4 times the CPU time of the process.
 */
async function seriesOf(list: JsonArray, reader: PointReader): Promise<readonly (Series | undefined)[]> {
  const { bytes, start, ends } = list;
  const end = ends.at(-1) as number;
  if (end - start > MAX_CACHED_BYTES) return readSeries(list, reader);
  // In Latin-1, each byte is a character.
  const text = bytes.toString("latin1", start, end);
  const cached = reader.lists.get(text);
  if (cached !== undefined) return cached;
  const series = await readSeries(list, reader);
  if (reader.issues.count === 0) reader.lists.set(text, series as readonly Series[], SERIES_BYTES * series.length);
  return series;
}

/** Reads the series of a list, up to the last one whose issue can be reported. */
async function readSeries(list: JsonArray, reader: PointReader): Promise<readonly (Series | undefined)[]> {
  const series: (Series | undefined)[] = [];
  await readElements(list, "series", reader, (item, i) => {
    series.push(readOne(item, `series[${i}]`, reader));
  });
  return series;
}

function readOne(item: unknown, path: string, { issues }: PointReader): Series | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    issues.add("not_an_object", path, "A series must be an object");
    return undefined;
  }
  const { dimension, dimension_id, dimension_type } = item as Record<string, unknown>;
  const found = writableSeries(dimension, dimension_id, dimension_type);
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
