import { type TSchema, Type } from "@sinclair/typebox";
import { durationPattern } from "../../formats/duration.js";
import { instantForms } from "../../formats/instant.js";
import { aggregations, dimensionNames, dimensions } from "../../metrics/dimensions.js";
import { NAME_LENGTH, typesOf } from "../../metrics/query/series-request.js";
import { exampleNames } from "../openapi.js";
import { oneOf, success, ValidationIssue } from "../responses.js";
import type { ResponseSpec } from "../route.js";

type Options = Readonly<Record<string, unknown>>;

const text = (options: Options) => Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"], ...options }));
const flag = (description: string) =>
  Type.Optional(Type.Unsafe<boolean | null>({ type: ["boolean", "null"], description }));

const duration = { pattern: `^${durationPattern}$` };

const instant = (options: Options) =>
  Type.Optional(
    Type.Unsafe<string | number | null>({
      title: "Moment",
      type: ["string", "integer", "null"],
      maxLength: 64,
      ...options,
    }),
  );

const otherSpelling = (name: string) => instant({ deprecated: true, description: `Another spelling of ${name}.` });

const standIn = (name: string) =>
  Type.Optional(
    Type.Unknown({ deprecated: true, description: `Stands for ${name} when that is absent; ignored otherwise.` }),
  );

/** What can be said of a series to fetch: as query parameters, or as fields of an object in the body. */
export const seriesFields = {
  dimension: text({
    title: "Dimension",
    enum: [...dimensionNames, null],
    description: "The dimension of the series; segsize is another name of segment.",
  }),
  dimension_id: text({
    minLength: 1,
    maxLength: 256,
    description:
      "The id within the dimension: of an experience, an experience group or a segment, or the name of a stream. No control characters, not ending in a backslash. all_segments, with segment, gives a series for each segment.",
  }),
  dimension_type: text({
    enum: [...new Set(dimensions.flatMap(typesOf)), null],
    description: "The type of value. All but size are of experience and experiencegroup alone.",
  }),
  name: text({
    maxLength: NAME_LENGTH,
    description: "A label that comes back. `<dimension>.<dimension_id>.<dimension_type>` when it is absent.",
  }),
  aggregation: text({
    title: "Aggregation",
    enum: [...aggregations, null],
    description: "How the saved values of an interval are combined: sum by default for stream, max for the others.",
  }),
  interval: text({
    ...duration,
    description: "The length of a bucket: `<n><unit>` with a unit of m, h, d or w. 2h when it is absent.",
  }),
  range: text({
    pattern: `^(?:now-)?${durationPattern}$`,
    description: "The window, counted back from now. Not together with a start or an end. 2d when all are absent.",
  }),
  startdate: instant({
    description: `An ${instantForms}, now, or \`now-<n><unit>\` with a unit of m, h, d or w. A time without an offset is UTC, a date its 00:00 UTC.`,
  }),
  enddate: instant({
    description: "The end of the window, exclusive, written as startdate is; now when it is absent.",
  }),
  include_empty_rows: flag("Whether an interval in which nothing was saved has the value 0, instead of none."),
  smooth: flag("Whether each value is the mean of its interval and the two before it."),
  start_date: otherSpelling("startdate"),
  end_date: otherSpelling("enddate"),
  keyspace: standIn("dimension"),
  metric: standIn("dimension_id, with the type size,"),
  account_id: Type.Optional(Type.Unknown({ deprecated: true, description: "Ignored." })),
};

export type SeriesField = keyof typeof seriesFields;

export const seriesFieldNames = Object.keys(seriesFields) as SeriesField[];

/** The names and types of the fields, and nothing else: what is wrong with their values is found item by item, where they are understood. */
export const SeriesShape = Type.Object(
  mapFields(({ type }) => Type.Optional(type === undefined ? Type.Unknown() : Type.Unsafe<unknown>({ type }))),
  { additionalProperties: false },
);

/** A series that a query asks for; what it gives is said by one of these. */
export const exampleSeries = {
  dimension: "segment",
  dimension_id: exampleNames.audience,
  dimension_type: "size",
} as const;

/** What says which series is meant. Older names can stand for the first two, so no check requires them. */
export const whichSeries = Object.keys(exampleSeries);

/** The fields as query parameters: a query cannot say null, and a value in it is a text before it is a number. */
export const seriesQuery = mapFields((field, name) => {
  const { type, description, deprecated, ...rest } = withoutNull(field);
  const docs = { description: description ?? "", ...(deprecated === undefined ? {} : { deprecated }) };
  const example: string | undefined = Object.entries(exampleSeries).find(([known]) => known === name)?.[1];
  const examples = example === undefined ? {} : { examples: [example] };
  const schema = typeof type === "string" ? { type, ...rest } : { type: "string" };
  return Type.Optional(Type.Unsafe<unknown>({ ...schema, ...docs, ...examples }));
});

/** How an answer is written: as the query says, else as `Accept` does. */
export const formatQuery = {
  format: Type.Optional(
    oneOf(["json", "csv"] as const, {
      description: "How the answer is written; as Accept says when it is absent.",
      issue: { code: "unknown_format", message: "format is either json or csv" },
    }),
  ),
};

/** A client that leaves a field out needs no null, and generated clients are simpler without. */
const SeriesRequest = Type.Unsafe<unknown>({
  title: "SeriesRequest",
  type: "object",
  description: "A series to fetch. A field that is null counts as absent.",
  required: whichSeries,
  additionalProperties: false,
  properties: mapFields(withoutNull),
});

/** The body of a POST, for the document. */
export const SeriesRequests = Type.Unsafe<unknown>({
  oneOf: [SeriesRequest, Type.Array(SeriesRequest, { minItems: 1, maxItems: 100 })],
});

function mapFields(change: (schema: TSchema, name: string) => TSchema): Record<SeriesField, TSchema> {
  const changed = Object.entries(seriesFields).map(([name, schema]) => [name, change(schema, name)]);
  return Object.fromEntries(changed) as Record<SeriesField, TSchema>;
}

/** The same schema for a value that is never null. */
function withoutNull(schema: TSchema): TSchema {
  const types = [schema.type ?? []].flat().filter((name) => name !== "null");
  return {
    ...schema,
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0] : types }),
    ...(schema.enum === undefined ? {} : { enum: schema.enum.filter((value: unknown) => value !== null) }),
  };
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
    is_cached: Type.Boolean({ description: "Whether no store was read for it." }),
    complete_until: milliseconds("Every bucket that ends by then can no longer change on schedule."),
    next_save_at: milliseconds("When asking again can show something new."),
    values: Type.Array(SeriesPoint, { description: "Ascending by ts." }),
  },
  { title: "FetchedSeries", additionalProperties: false },
);

const RefusedSeries = Type.Object(
  {
    ...Type.Partial(Type.Object(names)).properties,
    values: Type.Array(SeriesPoint, { description: "None.", maxItems: 0 }),
    errors: Type.Array(ValidationIssue, { minItems: 1 }),
  },
  {
    title: "RefusedSeries",
    description: "An item of a batch that could not be answered, with those of its names that are in order.",
    additionalProperties: false,
  },
);

/** The response to GET. */
export const metricAnswer = success("MetricAnswer", Type.Array(FetchedSeries));

/** The response to POST: an item of a batch can be refused in its place. */
export const metricBatchAnswer = success(
  "MetricBatchAnswer",
  Type.Array(Type.Union([FetchedSeries, RefusedSeries], { title: "BatchItem" })),
);

/** The same answer, or the values of its series as CSV. */
export function orCsv({ description, content }: ResponseSpec): ResponseSpec {
  return {
    description,
    content: {
      ...content,
      "text/csv": Type.String({
        description:
          "A header and a record for each value: name,dimension,dimension_id,dimension_type,ts,value. ts is RFC 3339.",
      }),
    },
  };
}
