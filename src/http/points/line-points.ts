import type { ValidationIssue } from "../../errors.js";
import {
  type LinePoint,
  metricLine,
  nsOf,
  type Precision,
  parseLine,
  parseLineFastPath,
} from "../../formats/line-protocol.js";
import { sourceNumber } from "../../metrics/added-points.js";
import { instantIssue, isInWindow, isSeries, type NamedSeries, writableSeries } from "../../metrics/writable-points.js";
import { mediaType } from "../core/body.js";
import type { ApiContext } from "../core/route.js";
import { cacheHead, type PointReader, readEachLine, type WriteLimits } from "./point-reader.js";

/** Meaning of the timestamps of lines. */
export interface LineTimes {
  /** Time of a line without a timestamp, Unix ms. */
  readonly now: number;
  readonly precision: Precision;
}

/**
 * Reads the points of a request in line protocol, and resolves with their number. Rejects with issues by line when any
 * line is invalid; then none is written.
 */
export async function readLinePoints(
  ctx: ApiContext,
  times: LineTimes,
  reader: PointReader,
  limits: WriteLimits,
): Promise<number> {
  mediaType(ctx);
  await readEachLine(ctx, limits, reader, (text, number) => {
    if (text.trimStart().startsWith("#")) return;
    reader.count(1);
    const issue = addLine(text, times, reader);
    if (issue !== undefined) reader.issues.add(issue.code, `line ${number}${issue.path}`, issue.message);
  });
  reader.issues.throwIfAny(firstIssue);
  return reader.finish();
}

/**
 * Returns the message for the first issue: `line 2, tag dimension_id: …`. Most clients of InfluxDB show only the
 * message of an error.
 */
function firstIssue({ path, message }: ValidationIssue): string {
  const [line, part = ""] = path.split(".");
  const where = part === "" ? "" : `, ${partNames[part] ?? part}`;
  return `${line}${where}: ${message}. Nothing was written`;
}

/** Line protocol's names for the parts of a path. */
const partNames: Readonly<Record<string, string>> = {
  dimension: "measurement",
  dimension_id: "tag dimension_id",
  dimension_type: "tag dimension_type",
};

const NS_PER_MS = 1_000_000;

/** Adds one line, or returns its issue. */
function addLine(text: string, times: LineTimes, reader: PointReader): ValidationIssue | undefined {
  const usual = parseLineFastPath(text, times.precision);
  if (usual !== undefined) {
    const known = reader.heads.get(usual.head);
    if (known !== undefined && isInWindow(usual.ms, known.series.dimension.slotMs, reader.window)) {
      const ns = reader.hasSources ? nsOf(usual.timestamp, times.precision) : 0;
      reader.sink.add(known.series, usual.ms, usual.value, ns, known.source);
      return undefined;
    }
  }
  const { issue, named } = addAnyLine(text, times, reader);
  // An escaped blank does not end a head.
  if (named !== undefined && usual !== undefined && !usual.head.includes("\\")) cacheHead(reader, usual.head, named);
  return issue;
}

function addAnyLine(
  text: string,
  { now, precision }: LineTimes,
  reader: PointReader,
): { readonly named?: NamedSeries; readonly issue?: ValidationIssue } {
  const parsed = parseLine(text);
  if ("issue" in parsed) return { issue: { code: "not_line_protocol", path: "", message: parsed.issue } };
  const line = metricLine(parsed, precision);
  if ("issue" in line) return { issue: { code: line.code, path: "", message: line.issue } };
  const series = writableSeries(line.dimension, line.dimension_id, line.dimension_type);
  if (!isSeries(series)) return { issue: { code: series.code, path: `.${series.field}`, message: series.message } };
  const ms = line.ms ?? now;
  if (!isInWindow(ms, series.dimension.slotMs, reader.window)) {
    return { issue: { path: ".timestamp", ...instantIssue(ms, reader.window) } };
  }
  const source = sourceNumber(otherTags(parsed));
  const ns = parsed.timestamp === undefined ? arrivalNs() : nsOf(parsed.timestamp, precision);
  reader.sink.add(series, ms, line.value, ns, source);
  return { named: { series, source } };
}

let arrivals = Math.floor(Math.random() * NS_PER_MS);

/** Returns the next number of ns, so that points without a timestamp that arrive in one ms are different points. */
function arrivalNs(): number {
  arrivals = (arrivals + 1) % NS_PER_MS;
  return arrivals;
}

/** Returns the tags that do not name the series, in an order of their own; empty if there are none. */
function otherTags({ tags }: LinePoint): string {
  const others = [...tags].filter(([name]) => name !== "dimension_id" && name !== "dimension_type");
  return others.length === 0 ? "" : JSON.stringify(others.sort(([a], [b]) => (a < b ? -1 : 1)));
}
