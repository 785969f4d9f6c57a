import type { ErrorObject } from "ajv";
import type { Limits } from "../../config/settings.js";
import { invalid, ServiceError, type ValidationIssue } from "../../errors.js";
import type { RequestedItem } from "../../metrics/query/fetch.js";
import type { RequestedSeries } from "../../metrics/query/request.js";
import { knownNames } from "../../text.js";
import { parseJson } from "../core/json-body.js";
import { compile } from "../core/validation.js";
import { type SeriesField, SeriesShape, seriesFieldNames } from "./schemas.js";

export type MetricReadLimits = Pick<Limits, "body_bytes" | "batch_series">;

type Fields = Partial<Record<SeriesField, unknown>>;

const hasShape = compile(SeriesShape);

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
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const issue = { code: "not_an_object", path: "", message: "A series must be a JSON object" };
    return { asked: {}, issue, at };
  }
  return { asked: requestedSeries(item), issue: hasShape(item) ? givenTwice(item) : issueOf(hasShape.errors?.[0]), at };
}

/** Returns the issue of an item with a wrong shape. Its values are validated where they are used. */
function issueOf(error: ErrorObject | undefined): ValidationIssue {
  if (error?.keyword === "additionalProperties") return unknownField(error.params.additionalProperty);
  const name = error?.instancePath.slice(1) ?? "";
  const types: readonly string[] = error?.params.type ?? [];
  return { code: "invalid_type", path: name, message: `${name} must be a ${types.slice(0, -1).join(" or a ")}` };
}

function unknownField(name: string): ValidationIssue {
  return { code: "unknown_field", path: "", message: `Unknown field; ${knownNames(name, seriesFieldNames)}` };
}

/** Returns the issue of a parameter given under both of its names. */
function givenTwice({ startdate, start_date, enddate, end_date }: Fields): ValidationIssue | undefined {
  const name = given(startdate) && given(start_date) ? "startdate" : given(enddate) && given(end_date) ? "enddate" : "";
  return name === ""
    ? undefined
    : { code: "duplicate", path: name, message: `${name} is given under both of its names` };
}

/** Converts the fields to a request; omits fields of a wrong type. */
function requestedSeries(fields: Fields): RequestedSeries {
  const standsIn =
    (!given(fields.dimension) && given(fields.keyspace)) || (!given(fields.dimension_id) && given(fields.metric));
  const asked = {
    dimension: text(fields.dimension ?? fields.keyspace),
    id: text(fields.dimension_id ?? fields.metric),
    type: text(fields.dimension_type),
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
