import { Readable } from "node:stream";
import { ServiceError, type ValidationIssue } from "../../errors.js";
import { csvRecord } from "../../formats/csv.js";
import { timeText } from "../../formats/instant.js";
import type { RefusedSeries } from "../../metrics/query/fetch.js";
import type { FetchedSeries } from "../../metrics/query/read-plans.js";
import type { ApiContext } from "../core/route.js";
import { seriesLabel } from "./series-body.js";

/** Characters generated at once. */
const CHUNK_CHARS = 65_536;

/**
 * Sends the values of series as CSV. Keeps memory reserved for their JSON, from which the text is generated as the
 * caller reads it. Throws when an item failed: CSV cannot report errors of items.
 */
export function sendCsv(ctx: ApiContext, fetched: readonly (FetchedSeries | RefusedSeries)[]): void {
  const issues = fetched.flatMap((series) => ("issue" in series ? series.issue : []));
  if (issues.length > 0) throw invalidItems(issues);
  ctx.state.memory.keepResponse(
    fetched.reduce((sum, series) => sum + ("json" in series ? series.json.byteLength : 0), 0),
  );
  ctx.status = 200;
  ctx.type = "text/csv; charset=utf-8";
  ctx.body = Readable.from(csvChunks(fetched as readonly FetchedSeries[]), {
    objectMode: false,
    highWaterMark: CHUNK_CHARS,
  });
}

function invalidItems(issues: readonly ValidationIssue[]): ServiceError {
  const message = issues.length === 1 ? (issues[0] as ValidationIssue).message : "Some items are invalid";
  return new ServiceError("invalid", message, { issues });
}

const COLUMNS = ["name", "dimension", "dimension_id", "dimension_type", "ts", "value"];

/** Yields the text in chunks; each is generated when the caller has consumed the previous one. */
function* csvChunks(fetched: readonly FetchedSeries[]): Generator<string> {
  let text = csvRecord(COLUMNS);
  for (const { plan, json } of fetched) {
    const { asked, id, type } = plan.request;
    const names = csvRecord([seriesLabel(plan), asked.dimension, id, type]).trimEnd();
    const values: readonly { value: number; ts: string }[] = JSON.parse(json.toString("latin1"));
    for (const { value, ts } of values) {
      text += `${names},${timeText(Number(ts))},${value}\r\n`;
      if (text.length < CHUNK_CHARS) continue;
      yield text;
      text = "";
    }
  }
  yield text;
}
