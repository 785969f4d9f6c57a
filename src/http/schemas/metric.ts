import { durationPattern } from "../../formats/duration.js";
import { aggregations } from "../../metrics/buckets.js";
import { dimensionNames, dimensions } from "../../metrics/dimensions/index.js";
import { NAME_LENGTH, typesOf } from "../../metrics/series-request.js";
import { answerSchema, problemSchema } from "./envelope.js";

const duration = { pattern: `^${durationPattern}$` } as const;

const moment = {
  title: "Moment",
  type: ["string", "integer", "null"],
  maxLength: 64,
  description:
    "RFC 3339 (UTC where it names no offset), a date YYYY-MM-DD (its 00:00 UTC), epoch milliseconds (13 digits) or seconds (10), now, or `now-<n><unit>` with a unit of m, h, d or w.",
} as const;

const otherSpelling = (name: string) => ({ ...moment, deprecated: true, description: `Another spelling of ${name}.` });

const standIn = (name: string) => ({
  deprecated: true,
  description: `Stands for ${name} when that is absent; ignored otherwise.`,
});

/** What can be said of a series to fetch: as query parameters, or as fields of an object in the body. */
export const metricRequestProperties = {
  dimension: {
    title: "Dimension",
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
    description: "A label that comes back. `<dimension>.<dimension_id>.<dimension_type>` when it is absent.",
  },
  aggregation: {
    title: "Aggregation",
    type: ["string", "null"],
    enum: [...aggregations, null],
    description: "How the saved values of an interval are combined: sum by default for stream, max for the others.",
  },
  interval: {
    type: ["string", "null"],
    ...duration,
    description: "The length of a bucket: `<n><unit>` with a unit of m, h, d or w. 2h when it is absent.",
  },
  range: {
    type: ["string", "null"],
    pattern: `^(?:now-)?${durationPattern}$`,
    description: "The window, counted back from now. Not together with a start or an end. 2d when all are absent.",
  },
  startdate: moment,
  enddate: {
    ...moment,
    description: "The end of the window, exclusive, written as startdate is; now when it is absent.",
  },
  include_empty_rows: {
    type: ["boolean", "null"],
    description: "Whether an interval in which nothing was saved has the value 0, instead of none.",
  },
  smooth: {
    type: ["boolean", "null"],
    description: "Whether each value is the mean of its interval and the two before it.",
  },
  start_date: otherSpelling("startdate"),
  end_date: otherSpelling("enddate"),
  keyspace: standIn("dimension"),
  metric: standIn("dimension_id, with the type size,"),
  account_id: { deprecated: true, description: "Ignored." },
} as const;

export const metricRequestSchema = {
  title: "SeriesRequest",
  type: "object",
  description: "A series to fetch. A field that is null counts as absent.",
  additionalProperties: false,
  properties: metricRequestProperties,
} as const;

const milliseconds = { type: "string", pattern: "^-?[0-9]+$" } as const;

const points = {
  type: "array",
  description: "Ascending by ts.",
  items: {
    title: "SeriesPoint",
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
  dimension: { title: "Dimension", type: "string", enum: dimensionNames },
  dimension_id: { type: "string" },
  dimension_type: { type: "string" },
} as const;

const fetchedSeriesSchema = {
  title: "FetchedSeries",
  type: "object",
  required: [
    ...Object.keys(names),
    ...["range", "aggregation", "interval", "is_cached", "complete_until", "next_save_at", "values"],
  ],
  additionalProperties: false,
  properties: {
    ...names,
    range: { type: "string", description: "The length of the window." },
    aggregation: { title: "Aggregation", type: "string", enum: aggregations },
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
  title: "RefusedSeries",
  type: "object",
  description: "An item of a batch that could not be answered, with those of its names that are in order.",
  required: ["values", "errors"],
  additionalProperties: false,
  properties: {
    ...names,
    values: { ...points, description: "None.", maxItems: 0 },
    errors: { type: "array", minItems: 1, items: problemSchema },
  },
} as const;

/** The response to GET. */
export const metricAnswerSchema = answerSchema("MetricAnswer", { type: "array", items: fetchedSeriesSchema });

/** The response to POST: an item of a batch can be refused in its place. */
export const metricBatchAnswerSchema = answerSchema("MetricBatchAnswer", {
  type: "array",
  items: { title: "BatchItem", anyOf: [fetchedSeriesSchema, refusedSeriesSchema] },
});
