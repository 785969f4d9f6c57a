import type { ValidationIssue } from "../../errors.js";
import { metricLine, type Precision, parseLine, parseUsualLine } from "../../formats/line-protocol.js";
import type { Series } from "../../metrics/series.js";
import { instantIssue, isInWindow, isSeries } from "../../metrics/writable-points.js";
import { mediaType } from "../core/body.js";
import type { ApiContext } from "../core/route.js";
import { type PointReader, type PointsRead, readEachLine, type WriteLimits } from "./point-reader.js";

/** Meaning of the timestamps of lines. */
export interface LineTimes {
  /** Time of a line without a timestamp, Unix ms. */
  readonly now: number;
  readonly precision: Precision;
}

/**
 * Reads the points of a request in line protocol. Throws with issues by line when any line is invalid; then none is
 * written.
 */
export async function readLinePoints(
  ctx: ApiContext,
  times: LineTimes,
  reader: PointReader,
  limits: WriteLimits,
): Promise<PointsRead> {
  mediaType(ctx);
  await readEachLine(ctx, limits, reader, (text, number) => {
    if (text.trimStart().startsWith("#")) return;
    reader.count(1);
    const issue = takeLine(text, times, reader);
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

/** Adds one line, or returns its issue. */
function takeLine(text: string, times: LineTimes, reader: PointReader): ValidationIssue | undefined {
  const usual = parseUsualLine(text, times.precision);
  if (usual !== undefined) {
    const known = reader.series.named(usual.head);
    if (known !== undefined && isInWindow(usual.ms, known.dimension.slotMs, reader.window)) {
      reader.fold.add(known, usual.ms, usual.value);
      return undefined;
    }
  }
  const { issue, series } = takeAnyLine(text, times, reader);
  // An escaped blank does not end a head.
  if (series !== undefined && usual !== undefined && !usual.head.includes("\\")) reader.series.name(usual.head, series);
  return issue;
}

function takeAnyLine(
  text: string,
  { now, precision }: LineTimes,
  reader: PointReader,
): { readonly series?: Series; readonly issue?: ValidationIssue } {
  const parsed = parseLine(text);
  if ("issue" in parsed) return { issue: { code: "not_line_protocol", path: "", message: parsed.issue } };
  const line = metricLine(parsed, precision);
  if ("issue" in line) return { issue: { code: line.code, path: "", message: line.issue } };
  const series = reader.series.find(line.dimension, line.dimension_id, line.dimension_type);
  if (!isSeries(series)) return { issue: { code: series.code, path: `.${series.field}`, message: series.message } };
  const ms = line.ms ?? now;
  if (!isInWindow(ms, series.dimension.slotMs, reader.window)) {
    return { issue: { path: ".timestamp", ...instantIssue(ms, reader.window) } };
  }
  reader.fold.add(series, ms, line.value);
  return { series };
}
