import type { Limits } from "../../config.js";
import { invalid, ServiceError } from "../../errors.js";
import { lineIssues } from "../../formats/line-splitter.js";
import type { SlotColumn } from "../../metrics/series.js";
import { PointFold } from "../../metrics/slot-columns.js";
import { WritableSeries, type WriteWindow } from "../../metrics/writable-points.js";
import { mediaType, readLines, readText } from "../body.js";
import type { ApiContext } from "../route.js";
import { compile, Issues, unknownFields } from "../validation.js";
import { type PointReader, readFlatPoint } from "./flat-points.js";
import { readPointBlock } from "./point-block.js";
import { PointBlock } from "./schemas.js";

export type WriteLimits = Pick<Limits, "write_body_bytes" | "line_bytes" | "batch_points">;

export interface PointsRead {
  readonly count: number;
  readonly columns: SlotColumn[];
}

/** The points of a request to `/api/metric/points`: all of them, or the error. */
export async function readPoints(ctx: ApiContext, window: WriteWindow, limits: WriteLimits): Promise<PointsRead> {
  const type = mediaType(ctx);
  if (type === "application/x-ndjson" || type === "application/ndjson") return readJsonLines(ctx, window, limits);
  if (type !== "application/json") {
    throw new ServiceError("unsupported-media", "The body must be application/json or application/x-ndjson in UTF-8");
  }
  const body = parseJson(await readText(ctx, limits.write_body_bytes));
  if (Array.isArray(body)) return readArray(body, window, limits.batch_points);
  return readBlock(body, window, limits.batch_points);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("not_json", "", "The body is not JSON");
  }
}

function readArray(body: readonly unknown[], window: WriteWindow, most: number): PointsRead {
  refuseOver(most, body.length);
  const reader = newPointReader(window);
  for (let i = 0; i < body.length && !reader.issues.full; i += 1) readFlatPoint(body[i], () => `[${i}]`, reader);
  return finishPoints(reader);
}

async function readJsonLines(ctx: ApiContext, window: WriteWindow, limits: WriteLimits): Promise<PointsRead> {
  const reader = newPointReader(window);
  let count = 0;
  for await (const lines of readLines(ctx, { lineBytes: limits.line_bytes, totalBytes: limits.write_body_bytes })) {
    count += lines.length;
    refuseOver(limits.batch_points, count);
    for (const { number, text, issue } of lines) {
      if (reader.issues.full) break;
      if (issue !== undefined) reader.issues.add(issue, `line ${number}`, lineIssues[issue]);
      else readJsonLine(text, number, reader);
    }
  }
  return finishPoints(reader);
}

function readJsonLine(text: string, number: number, reader: PointReader): void {
  let point: unknown;
  try {
    point = JSON.parse(text);
  } catch {
    reader.issues.add("not_json", `line ${number}`, "The line is not JSON");
    return;
  }
  readFlatPoint(point, () => `line ${number}`, reader);
}

const isBlock = compile(PointBlock);

const BLOCK_FIELDS = Object.keys(PointBlock.properties);

function readBlock(body: unknown, window: WriteWindow, most: number): PointsRead {
  const issues = new Issues();
  if (typeof body === "object" && body !== null && BLOCK_FIELDS.some((name) => Object.hasOwn(body, name))) {
    unknownFields(body, BLOCK_FIELDS, "", issues);
    issues.throwIfAny(NOTHING_WRITTEN);
  }
  if (!isBlock(body))
    throw invalid("not_points", "", "An array of points, or a block of series, ts and values, is expected");
  const { count, columns } = readPointBlock(body, window, issues);
  refuseOver(most, count);
  issues.throwIfAny(NOTHING_WRITTEN);
  if (count === 0) throw emptyWrite();
  return { count, columns: columns() };
}

const NOTHING_WRITTEN = "Nothing was written: the points are not all valid";

export function newPointReader(window: WriteWindow): PointReader {
  return { series: new WritableSeries(), window, fold: new PointFold(), issues: new Issues() };
}

/** The points read, unless there are none or something is wrong with one of them. */
export function finishPoints({ fold, issues }: PointReader): PointsRead {
  issues.throwIfAny(NOTHING_WRITTEN);
  if (fold.count === 0) throw emptyWrite();
  return { count: fold.count, columns: fold.columns() };
}

export function refuseOver(most: number, count: number): void {
  if (count > most) throw new ServiceError("too-large", `More than ${most} points in one write`);
}

function emptyWrite(): ServiceError {
  return invalid("empty", "", "There is no point to write");
}
