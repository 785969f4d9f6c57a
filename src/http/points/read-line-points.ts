import type { ValidationIssue } from "../../errors.js";
import { metricLine, type Precision, parseLine } from "../../formats/line-protocol.js";
import { lineIssues } from "../../formats/line-splitter.js";
import { instantIssue, isInWindow, isSeries, type WriteWindow } from "../../metrics/writable-points.js";
import { mediaType, readLines } from "../body.js";
import type { ApiContext } from "../route.js";
import type { PointReader } from "./flat-points.js";
import { finishPoints, newPointReader, type PointsRead, refuseOver, type WriteLimits } from "./read-points.js";

/** What the times of lines mean, and which are taken. */
export interface LineTimes {
  /** Of a line without a timestamp, Unix ms. */
  readonly now: number;
  readonly precision: Precision;
  readonly window: WriteWindow;
}

/** The points of a request in line protocol: all of them, or the error, which names lines. */
export async function readLinePoints(ctx: ApiContext, times: LineTimes, limits: WriteLimits): Promise<PointsRead> {
  mediaType(ctx);
  const reader = newPointReader(times.window);
  let count = 0;
  for await (const lines of readLines(ctx, { lineBytes: limits.line_bytes, totalBytes: limits.write_body_bytes })) {
    for (const { number, text, issue } of lines) {
      if (reader.issues.full) break;
      if (issue !== undefined) reader.issues.add(issue, `line ${number}`, lineIssues[issue]);
      else if (!text.trimStart().startsWith("#")) {
        count += 1;
        readLine(text, number, times, reader);
      }
    }
    refuseOver(limits.batch_points, count);
  }
  reader.issues.throwIfAny(firstIssue);
  return finishPoints(reader);
}

/**
 * Most clients of InfluxDB show the message of an error and nothing else of it, so the message itself names the first bad line
 * and what is wrong with it: `line 2, tag dimension_id: …`.
 */
function firstIssue({ path, message }: ValidationIssue): string {
  const [line, part = ""] = path.split(".");
  const where = part === "" ? "" : `, ${partNames[part] ?? part}`;
  return `${line}${where}: ${message}. Nothing was written`;
}

/** What line protocol calls the parts that a path names. */
const partNames: Readonly<Record<string, string>> = {
  dimension: "measurement",
  id: "tag dimension_id",
  type: "tag dimension_type",
};

/** Takes one line; what is wrong with it, if anything, is noted. */
function readLine(text: string, number: number, times: LineTimes, reader: PointReader): void {
  const issue = takeLine(text, times, reader);
  if (issue !== undefined) reader.issues.add(issue.code, `line ${number}${issue.path}`, issue.message);
}

function takeLine(text: string, { now, precision }: LineTimes, reader: PointReader): ValidationIssue | undefined {
  const parsed = parseLine(text);
  if ("issue" in parsed) return { code: "not_line_protocol", path: "", message: parsed.issue };
  const line = metricLine(parsed, precision);
  if ("issue" in line) return { code: line.code, path: "", message: line.issue };
  const series = reader.series.find(line.dimension, line.dimension_id, line.dimension_type);
  if (!isSeries(series)) return { code: series.code, path: `.${series.field}`, message: series.message };
  const ms = line.ms ?? now;
  if (!isInWindow(ms, series.dimension.slotMs, reader.window)) {
    return { path: ".timestamp", ...instantIssue(ms, reader.window) };
  }
  reader.fold.add(series, ms, line.value);
  return undefined;
}
