import { Type } from "@sinclair/typebox";
import { invalid, ServiceError } from "../../errors.js";
import type { JsonSize } from "../../formats/json-size.js";
import type { Series, SlotColumn } from "../../metrics/series.js";
import { layOut, PointFold, type SlotLayout, slotLayout } from "../../metrics/slot-columns.js";
import { isSeries, type WritableSeries } from "../../metrics/writable-points.js";
import { compile, type Issues, unknownFields } from "../core/validation.js";
import { NOTHING_WRITTEN, type PointReader, type PointsRead, readInstant, type WriteLimits } from "./point-reader.js";

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
export function refuseManySeries({ nodes }: JsonSize, { batch_points }: Pick<WriteLimits, "batch_points">): void {
  if (nodes <= BLOCK_NODES + SERIES_NODES * batch_points) return;
  throw new ServiceError("too-large", `More than ${batch_points} series in one write`);
}

const isBlock = compile(PointBlock);

/** Reads a block `{ series, ts, values }`. */
export function readBlock(body: unknown, reader: PointReader): PointsRead {
  const { issues, window } = reader;
  // A point also has a ts.
  if (typeof body === "object" && body !== null && (Object.hasOwn(body, "series") || Object.hasOwn(body, "values"))) {
    unknownFields(body, BLOCK_FIELDS, "", issues);
    issues.throwIfAny(NOTHING_WRITTEN);
  }
  if (!isBlock(body))
    throw invalid("not_points", "", "The body must be an array of points, or a block of series, ts and values");
  const { ts, values } = body;
  const series = readSeries(body.series, reader);
  const slotMs = Math.max(1, ...new Set(series.map((one) => one?.dimension.slotMs ?? 1)));
  const times: number[] = [];
  for (let i = 0; i < ts.length && !issues.full; i += 1) {
    times.push(readInstant(ts[i], { window, slotMs }, `ts[${i}]`, issues));
  }
  const counts: number[] = [];
  if (values.length === series.length) {
    for (let i = 0; i < values.length && !issues.full; i += 1) {
      const given = countValues(values[i], ts.length, i, issues);
      counts.push(given);
      reader.count(given);
    }
  } else issues.add("invalid_length", "values", "values must have one list for each series");
  const { count } = reader.finish();
  return { count, columns: columnsOf(series, times, values as (number | null)[][], counts) };
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

/** Counts the values of a row. Any element but a finite number or null is an issue. */
function countValues(row: unknown, length: number, index: number, issues: Issues): number {
  if (!Array.isArray(row) || row.length !== length) {
    issues.add("invalid_length", `values[${index}]`, "The list must have one number or null for each ts");
    return 0;
  }
  let count = 0;
  for (let i = 0; i < length && !issues.full; i += 1) {
    const value: unknown = row[i];
    if (typeof value === "number" && Number.isFinite(value)) count += 1;
    else if (value !== null)
      issues.add("invalid_value", `values[${index}][${i}]`, "The value must be a finite number or null");
  }
  return count;
}

/** Maximum slots per value of a row in the layout shared by all rows; a sparser row gets its own layout. */
const SLOTS_OF_VALUE = 32;

/** Converts rows to columns. `counts` has the number of values per row. */
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
  /** Slots of a row in this layout. */
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
