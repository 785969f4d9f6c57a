import { Readable } from "node:stream";
import { ServiceError, type ValidationIssue } from "../../errors.js";
import { csvRecord } from "../../formats/csv.js";
import type { RefusedSeries } from "../../metrics/query/fetch-batch.js";
import type { FetchedSeries } from "../../metrics/query/fetch-series.js";
import type { ApiContext } from "../route.js";
import { timeText } from "../time.js";
import { seriesLabel } from "./series-json.js";

/** Whether a request asks for CSV: `format` wins over `Accept`. */
export function wantsCsv(ctx: ApiContext, format: "json" | "csv" | undefined): boolean {
  // What most send, and what nothing has to be weighed for.
  const { accept = "*/*" } = ctx.req.headers;
  if (format === undefined && (accept === "*/*" || accept === "application/json")) return false;
  return (format ?? ctx.accepts("json", "csv")) === "csv";
}

/** What is made at once, in characters. */
const PART = 65_536;

/** Sends the values of series as CSV. Throws when an item was refused: CSV has no place for what is wrong with it. */
export function sendCsv(ctx: ApiContext, answers: readonly (FetchedSeries | RefusedSeries)[]): void {
  const issues = answers.flatMap((answer) => ("issue" in answer ? answer.issue : []));
  if (issues.length > 0) throw invalidItems(issues);
  ctx.status = 200;
  ctx.type = "text/csv; charset=utf-8";
  ctx.body = Readable.from(csvParts(answers as readonly FetchedSeries[]), { objectMode: false, highWaterMark: PART });
}

function invalidItems(issues: readonly ValidationIssue[]): ServiceError {
  const message = issues.length === 1 ? (issues[0] as ValidationIssue).message : "Some items cannot be answered";
  return new ServiceError("invalid", message, { issues });
}

const COLUMNS = ["name", "dimension", "dimension_id", "dimension_type", "ts", "value"];

/** The text in parts: the next one is made when the caller has taken the one before. */
function* csvParts(answers: readonly FetchedSeries[]): Generator<string> {
  let text = csvRecord(COLUMNS);
  for (const { plan, serialised } of answers) {
    const { asked, id, type } = plan.request;
    const names = csvRecord([seriesLabel(plan), asked.dimension, id, type]).trimEnd();
    const values: readonly { value: number; ts: string }[] = JSON.parse(serialised.json.toString("latin1"));
    for (const { value, ts } of values) {
      text += `${names},${timeText(Number(ts))},${value}\r\n`;
      if (text.length < PART) continue;
      yield text;
      text = "";
    }
  }
  yield text;
}
