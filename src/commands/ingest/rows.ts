import { instantReader } from "../../formats/instant.js";
import { decimal, metricLine, type Precision, parseLine } from "../../formats/line-protocol.js";
import type { LineIssue } from "../rejections.js";

/** One point as a line of a file names it; a reader writes each line into the same object. */
export interface Row {
  dimension: unknown;
  dimension_id: unknown;
  dimension_type: unknown;
  value: number;
  /** Unix ms. */
  ms: number;
}

/** What the options of the command say of every row; they win over what a line says. */
export interface RowDefaults {
  readonly dimension: string | undefined;
  readonly dimensionId: string | undefined;
  readonly dimensionType: string | undefined;
}

/** Reads one line, or its cells, into `row`; returns what is wrong with it, or undefined when nothing is. */
export type RowReader<Source = string> = (source: Source, row: Row) => LineIssue | undefined;

export const BAD_TIME: LineIssue = { code: "invalid_time", message: "its time is none that is understood" };
export const BAD_VALUE: LineIssue = { code: "invalid_value", message: "its value is not a finite number" };

/** The finite number that a text is, else NaN. */
export function numberIn(text: string): number {
  const value = decimal(text);
  return value !== undefined && Number.isFinite(value) ? value : Number.NaN;
}

/** A reader of lines of JSON: `{ dimension, dimension_id, dimension_type, value, ts }`, `time` or `timestamp` for `ts`. */
export function jsonRows(defaults: RowDefaults): RowReader {
  const readInstant = instantReader();
  return (text, row) => {
    let point: unknown;
    try {
      point = JSON.parse(text);
    } catch {
      return { code: "not_json", message: "it is not JSON" };
    }
    if (typeof point !== "object" || point === null || Array.isArray(point)) {
      return { code: "not_an_object", message: "it is not a JSON object" };
    }
    const fields = point as Record<string, unknown>;
    row.dimension = defaults.dimension ?? fields.dimension;
    row.dimension_id = defaults.dimensionId ?? fields.dimension_id;
    row.dimension_type = defaults.dimensionType ?? fields.dimension_type ?? "size";
    row.ms = readInstant(fields.ts ?? fields.time ?? fields.timestamp);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    if (typeof fields.value !== "number" || !Number.isFinite(fields.value)) return BAD_VALUE;
    row.value = fields.value;
    return undefined;
  };
}

/** A reader of line protocol; a line without a timestamp means `now` (Unix ms). */
export function lineRows(defaults: RowDefaults, precision: Precision, now: number): RowReader {
  return (text, row) => {
    const parsed = parseLine(text);
    if ("issue" in parsed) return { code: "invalid_line", message: `it is not line protocol: ${parsed.issue}` };
    const line = metricLine(parsed, precision);
    if ("issue" in line) return { code: "invalid_line", message: line.issue };
    row.dimension = defaults.dimension ?? line.dimension;
    row.dimension_id = defaults.dimensionId ?? line.dimension_id;
    row.dimension_type = defaults.dimensionType ?? line.dimension_type;
    row.value = line.value;
    row.ms = line.ms ?? now;
    return undefined;
  };
}
