import { Ajv2020 } from "ajv/dist/2020.js";
import { invalid, type Problem, ServiceError } from "../errors.js";
import type { AskedItem } from "../metrics/fetch-batch.js";
import type { AskedSeries } from "../metrics/series-request.js";
import { nearestWord } from "../nearest-word.js";
import type { ApiContext } from "./api-router.js";
import { parseJson } from "./body.js";
import { readFlag, readQuery } from "./query.js";
import { metricRequestProperties, metricRequestSchema } from "./schemas/metric.js";

export interface MetricReadLimits {
  readonly body_bytes: number;
  readonly nesting: number;
  readonly batch_series: number;
}

type Field = keyof typeof metricRequestProperties;
type Fields = Partial<Record<Field, unknown>>;

export const fieldNames = Object.keys(metricRequestProperties) as Field[];
const flagNames = ["include_empty_rows", "smooth"] as const;
const isMetricRequest = new Ajv2020({ allowUnionTypes: true }).compile<Fields>(metricRequestSchema);

/** What a query asks for: one item. */
export function readMetricQuery(ctx: ApiContext): AskedItem {
  const query: Fields = readQuery(ctx, fieldNames);
  for (const name of flagNames) query[name] = readFlag(query[name] as string | undefined, name);
  return { asked: askedSeries(query), problem: problemOf(query), at: "" };
}

/** What the text of a body asks for: one object, or an array of them. */
export async function readMetricBody(text: string, limits: MetricReadLimits): Promise<AskedItem[]> {
  const body = await parseJson(text, limits.nesting);
  if (!Array.isArray(body)) return [readItem(body, "")];
  if (body.length === 0) throw invalid("empty", "", "There is no series to fetch");
  if (body.length > limits.batch_series) {
    throw new ServiceError("too-large", `More than ${limits.batch_series} series in one batch`);
  }
  return body.map((item, i) => readItem(item, `[${i}]`));
}

function readItem(item: unknown, at: string): AskedItem {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    const problem = { code: "not_an_object", path: "", message: "A series to fetch is a JSON object" };
    return { asked: {}, problem, at };
  }
  return { asked: askedSeries(item), problem: isMetricRequest(item) ? twice(item) : problemOf(item), at };
}

/** What is wrong with the shape of a request. What is wrong with its words is found where they are understood. */
function problemOf(fields: Fields): Problem | undefined {
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(metricRequestProperties, name)) return unknownField(name);
  }
  for (const name of fieldNames) {
    const schema = metricRequestProperties[name];
    const types: readonly string[] = "type" in schema ? schema.type : [];
    const value = fields[name];
    if (types.length === 0 || value === undefined || types.includes(typeOf(value))) continue;
    return { code: "wrong_type", path: name, message: `${name} is of type ${types.slice(0, -1).join(" or ")}` };
  }
  return twice(fields);
}

function unknownField(name: string): Problem {
  const message = `There is a field that is not known; the nearest known one is ${nearestWord(name, fieldNames).word}`;
  return { code: "unknown_field", path: "", message };
}

/** A parameter that is given under both of its names. */
function twice({ startdate, start_date, enddate, end_date }: Fields): Problem | undefined {
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
    start: moment(fields.startdate ?? fields.start_date),
    end: moment(fields.enddate ?? fields.end_date),
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

function moment(value: unknown): string | number | undefined {
  return typeof value === "number" ? value : text(value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Number.isInteger(value) ? "integer" : typeof value;
}
