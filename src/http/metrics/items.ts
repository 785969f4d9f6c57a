import type { Limits } from "../../config/settings.js";
import { invalid, issueOf, ServiceError, type ValidationIssue } from "../../errors.js";
import type { RequestedItem } from "../../metrics/query/fetch.js";
import type { RequestedSeries } from "../../metrics/query/request.js";
import { parseJson } from "../core/json-body.js";
import { bodyCheck } from "../core/validation.js";
import { type SeriesField, SeriesShape } from "./schemas.js";

export type MetricReadLimits = Pick<Limits, "body_bytes" | "batch_series">;

type Fields = Partial<Record<SeriesField, unknown>>;

const checkedFields = bodyCheck(SeriesShape, "A series");

/** Returns the series that the query parameters request. */
export function readMetricQuery(query: Fields): RequestedItem {
  return { asked: requestedSeries(query), issue: givenTwice(query), at: "" };
}

/** Returns the series that a body requests: one object or an array of them. */
export function readMetricBody(text: string, limits: MetricReadLimits): RequestedItem[] {
  const body = parseJson(text);
  if (!Array.isArray(body)) return [readItem(body, "")];
  if (body.length === 0) throw invalid("empty", "", "The request has no series");
  if (body.length > limits.batch_series) {
    throw new ServiceError("too-large", `More than ${limits.batch_series} series in one batch`);
  }
  return body.map((item, i) => readItem(item, `[${i}]`));
}

function readItem(item: unknown, at: string): RequestedItem {
  try {
    const fields = checkedFields(item);
    return { asked: requestedSeries(fields), issue: givenTwice(fields), at };
  } catch (error) {
    return { asked: requestedSeries(item ?? {}), issue: issueOf(error), at };
  }
}

/** Returns the issue of a parameter given under both of its names. */
function givenTwice({ startdate, start_date, enddate, end_date }: Fields): ValidationIssue | undefined {
  const areGiven = (...values: readonly unknown[]) => values.every((value) => value !== undefined);
  const name = areGiven(startdate, start_date) ? "startdate" : areGiven(enddate, end_date) ? "enddate" : "";
  return name === ""
    ? undefined
    : { code: "duplicate", path: name, message: `${name} is given under both of its names` };
}

/** Converts the fields to a request; omits fields of a wrong type. */
function requestedSeries(fields: Fields): RequestedSeries {
  const { dimension = fields.keyspace, dimension_id: id = fields.metric, dimension_type: type } = fields;
  const standsIn = dimension !== fields.dimension || id !== fields.dimension_id;
  return {
    dimension: text(dimension),
    id: text(id),
    type: standsIn && type === undefined ? "size" : text(type),
    name: text(fields.name),
    aggregation: text(fields.aggregation),
    interval: text(fields.interval),
    timezone: text(fields.timezone),
    start: instant(fields.startdate ?? fields.start_date),
    end: instant(fields.enddate ?? fields.end_date),
    range: text(fields.range),
    fillEmpty: fields.include_empty_rows === true,
    smooth: fields.smooth === true,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function instant(value: unknown): string | number | undefined {
  return typeof value === "number" ? value : text(value);
}
