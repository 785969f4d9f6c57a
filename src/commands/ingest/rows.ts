import { type CsvRecord, csvCells } from "../../formats/csv.js";
import { instantReader } from "../../formats/instant.js";
import { decimal, metricLine, type Precision, parseLine } from "../../formats/line-protocol.js";
import type { LineIssue } from "../send-files.js";

/** One point as read from a line; a reader reuses the same object. */
export interface Row {
  dimension: unknown;
  dimension_id: unknown;
  dimension_type: unknown;
  value: number;
  /** Unix ms. */
  ms: number;
}

/** Series from the command's options, which override those in a line. */
interface NamedSeries {
  readonly dimension?: string;
  readonly dimensionId?: string;
  readonly dimensionType?: string;
}

export interface PointOptions extends NamedSeries {
  /** Format of every file; undefined: detected from each file's first line. */
  readonly format?: PointFormat;
  /** Unit of the timestamps of line protocol. */
  readonly precision: Precision;
}

/** Reads one line, or its cells, into `row`. Returns an issue, or undefined. */
export type RowReader<Source = string> = (source: Source, row: Row) => LineIssue | undefined;

const BAD_TIME: LineIssue = {
  code: "invalid_time",
  message: "its time is not RFC 3339, YYYY-MM-DD, YYYY-MM-DD HH:MM:SS, or epoch seconds or ms",
};
const TWO_TIMES: LineIssue = { code: "invalid_time", message: "it has more than one of ts, time and timestamp" };
const BAD_VALUE: LineIssue = { code: "invalid_value", message: "its value is not a finite number" };

const TIME_COLUMNS = ["ts", "time", "timestamp"];

/** Columns of which a header may have one. */
const SINGLE_COLUMNS = [TIME_COLUMNS, ["value"], ["dimension"], ["dimension_id"], ["dimension_type"]];

/** Returns whether a line is the header of a CSV file of points: it has a time and a value column. */
function isCsvHeader(text: string): boolean {
  const names = columnNames(text);
  return names.includes("value") && names.some((name) => TIME_COLUMNS.includes(name));
}

export const pointFormats = ["csv", "ndjson", "line-protocol"] as const;

type PointFormat = (typeof pointFormats)[number];

/** Detects the format from a first line. An unknown line counts as a CSV header, which its reader then refuses. */
export function formatOfLine(text: string): PointFormat {
  if (isCsvHeader(text)) return "csv";
  if (/^\s*[{[]/.test(text)) return "ndjson";
  return /^\s*#|=/.test(text) ? "line-protocol" : "csv";
}

const SEPARATORS: readonly [separator: string, name: string][] = [
  [",", "commas"],
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "vertical bars"],
];

/** Returns why a line is not a header of points: the columns expected, and the separator found. */
function headerIssue(text: string): string {
  const [separator, name] = SEPARATORS.reduce((most, next) =>
    text.split(next[0]).length > text.split(most[0]).length ? next : most,
  );
  const found = text.includes(separator) ? `${name} between columns` : "one column";
  const columns = `${TIME_COLUMNS[0]} (or ${TIME_COLUMNS.slice(1).join(", ")}), value, dimension, dimension_id`;
  const options = "--dimension and --dimension-id replace the last two";
  return `the first line is not a header of points. It must have the columns ${columns}, with commas between them (${options}); found: ${found}. --format names another format`;
}

/** Creates a reader of records with this header; returns a text with the reason if the header is unsuitable. */
export function csvRows(header: string, named: NamedSeries): RowReader<CsvRecord["cells"]> | string {
  if (!isCsvHeader(header)) return headerIssue(header);
  const names = columnNames(header);
  for (const columns of SINGLE_COLUMNS) {
    if (names.filter((name) => columns.includes(name)).length > 1) {
      return `the header has more than one column for one thing: ${columns.join(", ")}`;
    }
  }
  const column = (name: string) => names.indexOf(name);
  const [dimension, id, type] = [column("dimension"), column("dimension_id"), column("dimension_type")];
  const [value, time] = [column("value"), names.findIndex((name) => TIME_COLUMNS.includes(name))];
  if (named.dimension === undefined && dimension < 0) return "no column dimension, and no --dimension";
  if (named.dimensionId === undefined && id < 0) return "no column dimension_id, and no --dimension-id";
  const readInstant = instantReader();

  return (cells, row) => {
    if (cells === undefined || cells.length !== names.length) {
      return { code: "invalid_row", message: `it does not have ${names.length} columns` };
    }
    row.dimension = named.dimension ?? cells[dimension]?.trim();
    row.dimension_id = named.dimensionId ?? cells[id];
    row.dimension_type = named.dimensionType ?? (cells[type]?.trim() || "size");
    row.value = numberIn((cells[value] as string).trim());
    row.ms = readInstant(cells[time]);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    return Number.isNaN(row.value) ? BAD_VALUE : undefined;
  };
}

function columnNames(header: string): string[] {
  return (csvCells(header) ?? []).map((name) => name.trim().toLowerCase());
}

/** Parses a finite number; returns NaN for other text. */
function numberIn(text: string): number {
  const value = decimal(text);
  return value !== undefined && Number.isFinite(value) ? value : Number.NaN;
}

/**
 * Creates a reader of JSON lines: `{ dimension, dimension_id, dimension_type, value, ts }`; `time` and `timestamp` are
 * aliases of `ts`.
 */
export function jsonRows(named: NamedSeries): RowReader {
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
    row.dimension = named.dimension ?? fields.dimension;
    row.dimension_id = named.dimensionId ?? fields.dimension_id;
    row.dimension_type = named.dimensionType ?? fields.dimension_type ?? "size";
    const times = TIME_COLUMNS.map((name) => fields[name]).filter((time) => time !== undefined && time !== null);
    if (times.length > 1) return TWO_TIMES;
    row.ms = readInstant(times[0]);
    if (Number.isNaN(row.ms)) return BAD_TIME;
    if (typeof fields.value !== "number" || !Number.isFinite(fields.value)) return BAD_VALUE;
    row.value = fields.value;
    return undefined;
  };
}

/** Creates a reader of line protocol. A line without a timestamp means `now` (Unix ms). */
export function lineRows(options: PointOptions, now: number): RowReader {
  return (text, row) => {
    const parsed = parseLine(text);
    if ("issue" in parsed) return { code: "invalid_line", message: `it is not line protocol: ${parsed.issue}` };
    const line = metricLine(parsed, options.precision);
    if ("issue" in line) return { code: "invalid_line", message: line.issue };
    row.dimension = options.dimension ?? line.dimension;
    row.dimension_id = options.dimensionId ?? line.dimension_id;
    row.dimension_type = options.dimensionType ?? line.dimension_type;
    row.value = line.value;
    row.ms = line.ms ?? now;
    return undefined;
  };
}
