import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { intervalPattern, rangePattern } from "../../formats/duration.js";
import { instantForms } from "../../formats/instant.js";
import { aggregations, dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { NAME_LENGTH, typesOf } from "../../metrics/query/request.js";
import { exampleNames } from "../core/openapi.js";
import { oneOf, success, ValidationIssue } from "../core/responses.js";
import type { ResponseSpec } from "../core/route.js";
import { aliasText, countedText, idText, typeText } from "./dimension-texts.js";

type Options = Readonly<Record<string, unknown>>;

const text = (options: Options) => Type.Optional(Type.String(options));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const instant = (options: Options) =>
  Type.Optional(Type.Unsafe<string | number>({ type: ["string", "integer"], maxLength: 64, ...options }));

const otherSpelling = (name: string) => instant({ deprecated: true, description: `Another spelling of ${name}.` });

const standIn = (name: string) =>
  Type.Optional(
    Type.Unknown({ deprecated: true, description: `Used as ${name} when that is absent; otherwise ignored.` }),
  );

/** Fields of a series to fetch: query parameters, or fields of an object in the body. */
export const seriesFields = {
  dimension: text({
    title: "Dimension",
    enum: dimensionNames,
    description: `Dimension of the series; ${aliasText}.`,
  }),
  dimension_id: text({
    minLength: 1,
    maxLength: 256,
    description: `Id within the dimension. ${idText}.`,
  }),
  dimension_type: text({
    enum: [...new Set(dimensions.flatMap(typesOf))],
    description: `Type of the values: ${typeText}.`,
  }),
  name: text({
    maxLength: NAME_LENGTH,
    description: "A label for the response. Default: `<dimension>.<dimension_id>.<dimension_type>`.",
  }),
  aggregation: text({
    title: "Aggregation",
    enum: aggregations,
    description: `Function over the saved values of an interval. Default: \`max\`, but \`sum\` for ${countedText}.`,
  }),
  interval: text({
    pattern: `^${intervalPattern}$`,
    description:
      "Length of a bucket: `<n><unit>` with a unit of m, h, d, w, mo (month), q (quarter) or y (year). Default: 2h.",
  }),
  timezone: text({
    minLength: 1,
    description:
      "Name of a time zone of the IANA database. Buckets of days and longer begin at midnight in it, and dates are dates in it; hours and minutes stay in UTC. Default: UTC.",
  }),
  range: text({
    pattern: `^(?:now-)?${rangePattern}$`,
    description:
      "Length of the window that ends now: `<n><unit>` with a unit of m, h, d, w, mo or y. Not allowed together with a start or an end. Default without them: 2d.",
  }),
  startdate: instant({
    description: `An ${instantForms}, now, or \`now-<n><unit>\` with a unit of m, h, d, w, mo or y. A time without an offset is UTC, a date its first moment in \`timezone\`.`,
  }),
  enddate: instant({
    description: "End of the window, exclusive, in the form of `startdate`. Default: now.",
  }),
  include_empty_rows: flag("Whether intervals without a saved value are returned as 0 instead of omitted."),
  smooth: flag("Whether each value is the mean of its interval and the two previous ones."),
  start_date: otherSpelling("startdate"),
  end_date: otherSpelling("enddate"),
  keyspace: standIn("dimension"),
  metric: standIn("dimension_id, with the type size,"),
  account_id: Type.Optional(Type.Unknown({ deprecated: true, description: "Ignored." })),
};

export type SeriesField = keyof typeof seriesFields;

/** Names and types of the fields. Values are validated per item where they are used. */
export const SeriesShape = Type.Object(
  mapFields(({ type }) => Type.Optional(Type.Unsafe<unknown>(type === undefined ? {} : { type }))),
  { additionalProperties: false },
);

/** Example of a series to fetch. */
export const exampleSeries = {
  dimension: "segment",
  dimension_id: exampleNames.audience,
  dimension_type: "size",
} as const;

/** Fields that select the series. Older names can replace the first two, so no check requires them. */
export const whichSeries = Object.keys(exampleSeries);

/** The fields as query parameters. */
export const seriesQuery = mapFields(({ type = "string", ...rest }, name) => {
  const example: string | undefined = Object.entries(exampleSeries).find(([known]) => known === name)?.[1];
  const examples = example === undefined ? {} : { examples: [example] };
  return Type.Optional(Type.Unsafe<unknown>({ type: firstOf(type), ...rest, ...examples }));
});

/** Format of the response: `format`, otherwise `Accept`. */
export const formatQuery = {
  format: Type.Optional(
    oneOf(["json", "csv"] as const, {
      description: "Format of the response. Default: by the `Accept` header.",
      issue: { code: "unknown_format", message: "format must be json or csv" },
    }),
  ),
};

const SeriesRequest = Type.Unsafe<unknown>({
  title: "SeriesRequest",
  type: "object",
  description: "A series to fetch. A field that is null counts as absent.",
  required: whichSeries,
  additionalProperties: false,
  properties: seriesFields,
});

/**
 * Documented body of a POST. The service also accepts a single object, but client generators fail on a choice between
 * an object and an array of it.
 */
export const seriesRequests = (most: number) => Type.Array(SeriesRequest, { minItems: 1, maxItems: most });

function mapFields(change: (schema: TSchema, name: string) => TSchema): Record<SeriesField, TSchema> {
  const changed = Object.entries(seriesFields).map(([name, schema]) => [name, change(schema, name)]);
  return Object.fromEntries(changed) as Record<SeriesField, TSchema>;
}

function firstOf(types: string | readonly string[]): string {
  return typeof types === "string" ? types : (types[0] as string);
}

const milliseconds = (description: string) => Type.String({ pattern: "^-?[0-9]+$", description });

const SeriesPoint = Type.Object(
  { value: Type.Number(), ts: milliseconds("Start of the bucket, Unix ms.") },
  { title: "SeriesPoint", additionalProperties: false },
);

const names = {
  name: Type.String(),
  dimension: oneOf(dimensionNames, { title: "Dimension" }),
  dimension_id: Type.String(),
  dimension_type: Type.String(),
};

const FetchedSeries = Type.Object(
  {
    ...names,
    range: Type.String({ description: "The length of the window." }),
    aggregation: oneOf(aggregations, { title: "Aggregation" }),
    interval: Type.String(),
    is_cached: Type.Boolean({ description: "Whether the series was served without a store read." }),
    complete_until: milliseconds("Buckets that end by this time (Unix ms) no longer change on schedule."),
    next_save_at: milliseconds("Earliest time at which a new request can return new values, Unix ms."),
    values: Type.Array(SeriesPoint, { description: "Ascending by ts." }),
  },
  { title: "FetchedSeries", additionalProperties: false },
);

/** An item of a batch that failed, with its valid names. */
type RefusedSeries = Partial<Pick<Static<typeof FetchedSeries>, keyof typeof names>> & {
  values: never[];
  errors: Static<typeof ValidationIssue>[];
};

/** One schema for both: generated clients cannot distinguish two schemas without a discriminating field. */
const BatchItem = Type.Unsafe<Static<typeof FetchedSeries> | RefusedSeries>({
  title: "BatchItem",
  type: "object",
  description: "A series. A failed item has `errors`, no values, and only its valid names.",
  required: ["values"],
  additionalProperties: false,
  properties: { ...FetchedSeries.properties, errors: Type.Array(ValidationIssue, { minItems: 1 }) },
});

/** The response to GET. */
export const metricAnswer = success("MetricAnswer", Type.Array(FetchedSeries));

/** The response to POST; items of a batch can fail individually. */
export const metricBatchAnswer = success("MetricBatchAnswer", Type.Array(BatchItem));

/** Returns the response with CSV as an alternative format. */
export function orCsv({ description, content }: ResponseSpec): ResponseSpec {
  return {
    description,
    content: {
      ...content,
      "text/csv": Type.String({
        description:
          "A header and one record per value: name,dimension,dimension_id,dimension_type,ts,value. `ts` is RFC 3339.",
      }),
    },
  };
}
