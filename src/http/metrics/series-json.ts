import { createHash } from "node:crypto";
import type { ErrorObject } from "ajv";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import type { AskedItem, RefusedSeries } from "../../metrics/query/fetch-batch.js";
import type { FetchedSeries } from "../../metrics/query/fetch-series.js";
import type { AskedSeries } from "../../metrics/query/series-request.js";
import { digestOf } from "../../metrics/query/series-values.js";
import { nearestWord } from "../../names.js";
import { inWireNames, seriesNames } from "../errors.js";
import { parseJson } from "../json-body.js";
import { compile } from "../validation.js";
import { type SeriesField, SeriesShape, seriesFieldNames } from "./schemas.js";

export interface MetricReadLimits {
  readonly body_bytes: number;
  readonly nesting: number;
  readonly batch_series: number;
}

type Fields = Partial<Record<SeriesField, unknown>>;

const hasShape = compile(SeriesShape);

/** What the parameters of a query ask for: one item. */
export function readMetricQuery(query: Fields): AskedItem {
  return { asked: askedSeries(query), issue: twice(query), at: "" };
}

/** What the text of a body asks for: one object, or an array of them. */
export function readMetricBody(text: string, limits: MetricReadLimits): AskedItem[] {
  const body = parseJson(text, limits.nesting);
  if (!Array.isArray(body)) return [readItem(body, "")];
  if (body.length === 0) throw invalid("empty", "", "There is no series to fetch");
  if (body.length > limits.batch_series) {
    throw new ServiceError("too-large", `More than ${limits.batch_series} series in one batch`);
  }
  return body.map((item, i) => readItem(item, `[${i}]`));
}

function readItem(item: unknown, at: string): AskedItem {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const issue = { code: "not_an_object", path: "", message: "A series to fetch is a JSON object" };
    return { asked: {}, issue, at };
  }
  return { asked: askedSeries(item), issue: hasShape(item) ? twice(item) : issueOf(hasShape.errors?.[0]), at };
}

/** What is wrong with the shape of a request. What is wrong with its words is found where they are understood. */
function issueOf(error: ErrorObject | undefined): ValidationIssue {
  if (error?.keyword === "additionalProperties") return unknownField(error.params.additionalProperty);
  const name = error?.instancePath.slice(1) ?? "";
  const types: readonly string[] = error?.params.type ?? [];
  return { code: "wrong_type", path: name, message: `${name} is of type ${types.slice(0, -1).join(" or ")}` };
}

function unknownField(name: string): ValidationIssue {
  const message = `There is a field that is not known; the nearest known one is ${nearestWord(name, seriesFieldNames).word}`;
  return { code: "unknown_field", path: "", message };
}

/** A parameter that is given under both of its names. */
function twice({ startdate, start_date, enddate, end_date }: Fields): ValidationIssue | undefined {
  const name = given(startdate) && given(start_date) ? "startdate" : given(enddate) && given(end_date) ? "enddate" : "";
  return name === ""
    ? undefined
    : { code: "given_twice", path: name, message: `${name} is given under both of its names` };
}

/** The request in domain words; fields of another type than theirs are left out. */
function askedSeries(fields: Fields): AskedSeries {
  const standsIn =
    (!given(fields.dimension) && given(fields.keyspace)) || (!given(fields.dimension_id) && given(fields.metric));
  const asked = {
    dimension: text(fields.dimension ?? fields.keyspace),
    id: text(fields.dimension_id ?? fields.metric),
    type: text(fields.dimension_type),
    name: text(fields.name),
    aggregation: text(fields.aggregation),
    interval: text(fields.interval),
    start: instant(fields.startdate ?? fields.start_date),
    end: instant(fields.enddate ?? fields.end_date),
    range: text(fields.range),
    fillEmpty: fields.include_empty_rows === true,
    smooth: fields.smooth === true,
  };
  return standsIn && !given(fields.dimension_type) ? { ...asked, type: "size" } : asked;
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function instant(value: unknown): string | number | undefined {
  return typeof value === "number" ? value : text(value);
}

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

/** A weak ETag of a body of this form. It changes when, and only when, the values can have. */
export function metricTag(answers: readonly (FetchedSeries | RefusedSeries)[], form: "json" | "csv"): string {
  const hash = createHash("sha256").update(`${form}\n`);
  for (const answer of answers) {
    if ("serialised" in answer)
      hash.update(`${JSON.stringify(answer.plan.request.id)} ${digestOf(answer.serialised)}\n`);
  }
  return `W/"${hash.digest("base64url").slice(0, 27)}"`;
}

/** Everything of a series that stands before its values. */
function head({ plan, isCached, completeUntil, nextSaveAt }: FetchedSeries): string {
  const { id, type, aggregation, window, asked } = plan.request;
  const name = JSON.stringify(seriesLabel(plan));
  return (
    `{"name":${name},"dimension":"${asked.dimension}","dimension_id":${JSON.stringify(id)},"dimension_type":"${type}",` +
    `"range":"${window.range}","aggregation":"${aggregation}","interval":"${asked.interval}","is_cached":${isCached},` +
    `"complete_until":"${completeUntil}","next_save_at":"${nextSaveAt}","values":`
  );
}

/** The label that was asked for, else the names of the series as they were asked for. */
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
    errors: [inWireNames(issue, seriesNames)],
  });
}
