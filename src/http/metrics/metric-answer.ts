import { createHash } from "node:crypto";
import type { RefusedSeries } from "../../metrics/query/fetch-batch.js";
import type { FetchedSeries } from "../../metrics/query/fetch-series.js";
import { digestOf } from "../../metrics/query/series-values.js";
import { inWireNames, seriesNames } from "../errors.js";

/** The body of an answer, joined from parts that are serialised already: nothing is built point by point. */
export function metricBody(answers: readonly (FetchedSeries | RefusedSeries)[]): Buffer {
  const parts: Buffer[] = [];
  let text = '{"status":200,"message":"success","data":[';
  for (const [i, answer] of answers.entries()) {
    if (i > 0) text += ",";
    if ("issue" in answer) {
      text += refused(answer);
    } else {
      parts.push(Buffer.from(text + head(answer)), answer.serialised.json);
      text = "}";
    }
  }
  parts.push(Buffer.from(`${text}]}`));
  return Buffer.concat(parts);
}

/** A weak ETag that changes when, and only when, the values can have. */
export function metricTag(answers: readonly (FetchedSeries | RefusedSeries)[]): string {
  const hash = createHash("sha256");
  for (const answer of answers) {
    if ("serialised" in answer)
      hash.update(`${JSON.stringify(answer.plan.request.id)} ${digestOf(answer.serialised)}\n`);
  }
  return `W/"${hash.digest("base64url").slice(0, 27)}"`;
}

/** Everything of a series that stands before its values. */
function head({ plan, isCached, completeUntil, nextSaveAt }: FetchedSeries): string {
  const { id, type, aggregation, window, asked } = plan.request;
  const name = JSON.stringify(asked.name ?? `${asked.dimension}.${id}.${type}`);
  return (
    `{"name":${name},"dimension":"${asked.dimension}","dimension_id":${JSON.stringify(id)},"dimension_type":"${type}",` +
    `"range":"${window.range}","aggregation":"${aggregation}","interval":"${asked.interval}","is_cached":${isCached},` +
    `"complete_until":"${completeUntil}","next_save_at":"${nextSaveAt}","values":`
  );
}

function refused({ asked, issue }: RefusedSeries): string {
  const { name, dimension, id, type } = asked;
  return JSON.stringify({
    name,
    dimension,
    dimension_id: id,
    dimension_type: type,
    values: [],
    errors: [inWireNames(issue, seriesNames)],
  });
}
