import type { Series, SlotColumn } from "../../metrics/series.js";
import { layOut, type SlotLayout, slotLayout } from "../../metrics/slot-columns.js";
import { isSeries, WritableSeries, type WriteWindow } from "../../metrics/writable-points.js";
import type { Issues } from "../validation.js";
import { unknownFields } from "../validation.js";
import { readMoment } from "./point-values.js";
import type { PointBlock } from "./schemas.js";

const SERIES_FIELDS = ["dimension", "dimension_id", "dimension_type"];

/** The points of a block: how many, and the columns that they make. Where there are issues there are no columns. */
export interface BlockPoints {
  readonly count: number;
  columns(): SlotColumn[];
}

/** Reads a block `{ series, ts, values }`, whose outer shape has been checked. */
export function readPointBlock({ series, ts, values }: PointBlock, window: WriteWindow, issues: Issues): BlockPoints {
  const found = readSeries(series, issues);
  const slotMs = Math.max(1, ...new Set(found.map((one) => one?.dimension.slotMs ?? 1)));
  const times = ts.map((moment, i) => readMoment(moment, { window, slotMs }, `ts[${i}]`, issues));
  if (values.length !== series.length) {
    issues.add("bad_length", "values", "One list of values for each series is expected");
    return { count: 0, columns: () => [] };
  }
  const count = values.reduce((sum: number, row, i) => sum + countValues(row, ts.length, i, issues), 0);
  return { count, columns: () => columnsOf(found, times, values as (number | null)[][]) };
}

function readSeries(list: readonly unknown[], issues: Issues): (Series | undefined)[] {
  const known = new WritableSeries();
  return list.map((item, i) => {
    const path = `series[${i}]`;
    if (typeof item !== "object" || item === null || Array.isArray(item)) {
      issues.add("not_an_object", path, "A series is an object");
      return undefined;
    }
    const { dimension, dimension_id, dimension_type } = item as Record<string, unknown>;
    const found = known.find(dimension, dimension_id, dimension_type);
    if (Object.keys(item).length !== SERIES_FIELDS.length) unknownFields(item, SERIES_FIELDS, path, issues);
    if (isSeries(found)) return found;
    issues.add(found.code, `${path}.${found.field}`, found.message);
    return undefined;
  });
}

/** How many values a row has; whatever is neither a finite number nor null is an issue. */
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

function columnsOf(
  series: readonly (Series | undefined)[],
  times: readonly number[],
  rows: readonly (number | null)[][],
): SlotColumn[] {
  const layouts = new Map<number, SlotLayout>();
  return series.flatMap((one, i) => {
    if (one === undefined) return [];
    const { slotMs } = one.dimension;
    const layout = layouts.get(slotMs) ?? slotLayout(times, slotMs);
    layouts.set(slotMs, layout);
    return layOut(layout, one, rows[i] as (number | null)[]);
  });
}
