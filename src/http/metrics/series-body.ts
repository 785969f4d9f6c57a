import { createHash } from "node:crypto";
import type { RefusedSeries } from "../../metrics/query/fetch.js";
import type { FetchedSeries } from "../../metrics/query/read-plans.js";

/** Joins the JSON of series to the body of a response. */
export function metricBody(fetched: readonly (FetchedSeries | RefusedSeries)[]): Buffer {
  const pieces: (string | Buffer)[] = [];
  let text = '{"status":200,"message":"success","data":[';
  for (const [i, series] of fetched.entries()) {
    if (i > 0) text += ",";
    if ("issue" in series) {
      text += refused(series);
    } else {
      pieces.push(text + head(series), series.json);
      text = "}";
    }
  }
  pieces.push(`${text}]}`);
  // A buffer of its own for each text costs more than its bytes, so the texts are written in place.
  const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  let at = 0;
  for (const piece of pieces) at += typeof piece === "string" ? body.write(piece, at) : piece.copy(body, at);
  return body;
}

/** Returns a weak ETag of a body in this format. It changes if and only if the values can have changed. */
export function metricTag(fetched: readonly (FetchedSeries | RefusedSeries)[], form: "json" | "csv"): string {
  const hash = createHash("sha256").update(`${form}\n`);
  for (const series of fetched) {
    if ("json" in series)
      hash
        .update(`${JSON.stringify(series.plan.request.id)} `)
        .update(series.json)
        .update("\n");
  }
  return `W/"${hash.digest("base64url").slice(0, 27)}"`;
}

/** Returns the fields of a series before its values. */
function head({ plan, isCached, completeUntil, nextSaveAt }: FetchedSeries): string {
  const { id, type, aggregation, window, asked } = plan.request;
  const name = JSON.stringify(seriesLabel(plan));
  return (
    `{"name":${name},"dimension":"${asked.dimension}","dimension_id":${JSON.stringify(id)},"dimension_type":"${type}",` +
    `"range":"${window.range}","aggregation":"${aggregation}","interval":"${asked.interval}","is_cached":${isCached},` +
    `"complete_until":"${completeUntil}","next_save_at":"${nextSaveAt}","values":`
  );
}

/** Returns the requested label, or the names of the series as requested. */
export function seriesLabel({ request: { asked, id, type } }: FetchedSeries["plan"]): string {
  return asked.name ?? `${asked.dimension}.${id}.${type}`;
}

function refused({ asked, issue }: RefusedSeries): string {
  const { name, dimension, id, type } = asked;
  return JSON.stringify({
    name,
    dimension,
    dimension_id: id,
    dimension_type: type,
    values: [],
    errors: [issue],
  });
}
