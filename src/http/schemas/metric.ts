import { aggregations } from "../../metrics/buckets.js";
import { dimensionNames, dimensions } from "../../metrics/dimensions/index.js";
import { NAME_LENGTH, typesOf } from "../../metrics/series-request.js";

const duration = { pattern: "^[1-9][0-9]{0,8}[mhdw]$" } as const;

const moment = {
  type: ["string", "integer", "null"],
  maxLength: 64,
  description:
    "RFC 3339 (UTC where it names no offset), a date YYYY-MM-DD (its 00:00 UTC), epoch milliseconds (13 digits) or seconds (10), now, or now-<n><unit> with a unit of m, h, d or w.",
} as const;

const otherSpelling = (name: string) => ({ ...moment, description: `Another spelling of ${name}.` });

const ignored = (name: string) => ({ description: `Stands for ${name} when that is absent; ignored otherwise.` });

/** What can be said of a series to fetch: as query parameters, or as fields of an object in the body. */
export const metricRequestProperties = {
  dimension: {
    type: ["string", "null"],
    enum: [...dimensionNames, null],
    description: "The dimension of the series; segsize is another name of segment.",
  },
  dimension_id: {
    type: ["string", "null"],
    minLength: 1,
    maxLength: 256,
    description:
      "The id within the dimension: of an experience, an experience group or a segment, or the name of a stream. No control characters, not ending in a backslash. all_segments, with segment, gives a series for each segment.",
  },
  dimension_type: {
    type: ["string", "null"],
    enum: [...new Set(dimensions.flatMap(typesOf)), null],
    description: "The type of value. All but size are of experience and experiencegroup alone.",
  },
  name: {
    type: ["string", "null"],
    maxLength: NAME_LENGTH,
    description: "A label that comes back. <dimension>.<dimension_id>.<dimension_type> when it is absent.",
  },
  aggregation: {
    type: ["string", "null"],
    enum: [...aggregations, null],
    description: "How the saved values of an interval are combined: sum by default for stream, max for the others.",
  },
  interval: {
    type: ["string", "null"],
    ...duration,
    description: "The length of a bucket: <n><unit> with a unit of m, h, d or w. 2h when it is absent.",
  },
  range: {
    type: ["string", "null"],
    pattern: "^(?:now-)?[1-9][0-9]{0,8}[mhdw]$",
    description: "The window, counted back from now. Not together with a start or an end. 2d when all are absent.",
  },
  startdate: moment,
  enddate: { ...moment, description: `The end of the window, exclusive; now when it is absent. ${moment.description}` },
  start_date: otherSpelling("startdate"),
  end_date: otherSpelling("enddate"),
  include_empty_rows: {
    type: ["boolean", "null"],
    description: "Whether an interval in which nothing was saved has the value 0, instead of none.",
  },
  smooth: {
    type: ["boolean", "null"],
    description: "Whether each value is the mean of its interval and the two before it.",
  },
  keyspace: ignored("dimension"),
  metric: ignored("dimension_id, with the type size,"),
  account_id: { description: "Ignored." },
} as const;

export const metricRequestSchema = {
  type: "object",
  description: "A series to fetch. A field that is null counts as absent.",
  additionalProperties: false,
  properties: metricRequestProperties,
} as const;

export const metricBodySchema = {
  oneOf: [metricRequestSchema, { type: "array", minItems: 1, maxItems: 100, items: metricRequestSchema }],
} as const;

const milliseconds = { type: "string", pattern: "^-?[0-9]+$" } as const;

const points = {
  type: "array",
  description: "Ascending by ts.",
  items: {
    type: "object",
    required: ["value", "ts"],
    additionalProperties: false,
    properties: {
      value: { type: "number" },
      ts: { ...milliseconds, description: "Start of the bucket, Unix ms." },
    },
  },
} as const;

const names = {
  name: { type: "string" },
  dimension: { type: "string", enum: dimensionNames },
  dimension_id: { type: "string" },
  dimension_type: { type: "string" },
} as const;

const fetchedSeriesSchema = {
  type: "object",
  required: [
    ...Object.keys(names),
    ...["range", "aggregation", "interval", "is_cached", "complete_until", "next_save_at", "values"],
  ],
  additionalProperties: false,
  properties: {
    ...names,
    range: { type: "string", description: "The length of the window." },
    aggregation: { type: "string", enum: aggregations },
    interval: { type: "string" },
    is_cached: { type: "boolean", description: "Whether no store was read for it." },
    complete_until: {
      ...milliseconds,
      description: "Every bucket that ends by then can no longer change on schedule.",
    },
    next_save_at: { ...milliseconds, description: "When asking again can show something new." },
    values: points,
  },
} as const;

const refusedSeriesSchema = {
  type: "object",
  description: "An item of a batch that could not be answered, with those of its names that are in order.",
  required: ["values", "errors"],
  additionalProperties: false,
  properties: {
    ...names,
    values: { type: "array", maxItems: 0 },
    errors: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["code", "path", "message"],
        properties: { code: { type: "string" }, path: { type: "string" }, message: { type: "string" } },
      },
    },
  },
} as const;

export const metricAnswerSchema = {
  type: "object",
  required: ["status", "message", "data"],
  additionalProperties: false,
  properties: {
    status: { const: 200 },
    message: { const: "success" },
    data: { type: "array", items: { anyOf: [fetchedSeriesSchema, refusedSeriesSchema] } },
  },
} as const;
