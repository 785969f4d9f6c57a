import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { durationPattern } from "../../formats/duration.js";
import { instantForms } from "../../formats/instant.js";
import { aggregations, dimensionNames, dimensions, type KnownDimension } from "../../metrics/dimensions.js";
import { NAME_LENGTH, typesOf } from "../../metrics/query/request.js";
import { exampleNames } from "../core/openapi.js";
import { oneOf, success, ValidationIssue } from "../core/responses.js";
import type { ResponseSpec } from "../core/route.js";

/** A series that can be written: of each dimension, the types that are stored. */
export type StoredSeries<D = KnownDimension> = D extends KnownDimension
  ? SeriesOf<D["name"] | D["aliases"][number], D["storedTypes"][number]>
  : never;

/** A series that can be read: stored and computed types of each dimension. */
export type ReadableSeries<D = KnownDimension> = D extends KnownDimension
  ? SeriesOf<D["name"] | D["aliases"][number], D["storedTypes"][number] | keyof D["ratios"]>
  : never;

interface SeriesOf<Dimension, Type> {
  readonly dimension: Dimension;
  readonly dimension_id: string;
  readonly dimension_type: Type;
}

type Options = Readonly<Record<string, unknown>>;

const text = (options: Options) => Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"], ...options }));
const flag = (description: string) =>
  Type.Optional(Type.Unsafe<boolean | null>({ type: ["boolean", "null"], description }));

const duration = { pattern: `^${durationPattern}$` };

const instant = (options: Options) =>
  Type.Optional(
    Type.Unsafe<string | number | null>({
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
      "The id within the dimension: of an experience, an experience group or a segment, or the name of a stream. No control characters, not ending in a backslash. all_segments, with segment, gives a series for each segment of a catalogue of at most 1,000; with more it is an error. all_streams, with stream, gives one series: the sum over all streams.",
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

/** The fields as query parameters, which are never null. */
export const seriesQuery = mapFields((field, name) => {
  const { type = "string", ...rest } = withoutNull(field);
  const example: string | undefined = Object.entries(exampleSeries).find(([known]) => known === name)?.[1];
  const examples = example === undefined ? {} : { examples: [example] };
  return Type.Optional(Type.Unsafe<unknown>({ type, ...rest, ...examples }));
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

const SeriesRequest = Type.Unsafe<unknown>({
  title: "SeriesRequest",
  type: "object",
  description: "A series to fetch. A field that is null counts as absent.",
  required: whichSeries,
  additionalProperties: false,
  properties: mapFields((field, name) => (whichSeries.includes(name) ? withoutNull(field) : orNull(field))),
});

/**
 * The body of a POST, for the document. The service also accepts a single object, but client generators fail at a choice between an
 * object and an array of it.
 */
export const seriesRequests = (most: number) => Type.Array(SeriesRequest, { minItems: 1, maxItems: most });

function mapFields(change: (schema: TSchema, name: string) => TSchema): Record<SeriesField, TSchema> {
  const changed = Object.entries(seriesFields).map(([name, schema]) => [name, change(schema, name)]);
  return Object.fromEntries(changed) as Record<SeriesField, TSchema>;
}

/** The same schema for a text or a flag that is never null. */
function withoutNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(type === undefined ? {} : { type: type[0] }),
    ...(values === undefined ? {} : { enum: values.filter((value: unknown) => value !== null) }),
  };
}

/**
 * The same schema for an optional field of a body: without its title, because the variant with null is not the shared schema, and
 * without the number that an instant may be, because generated clients reject values of two types.
 */
function orNull({ title: _, type, ...rest }: TSchema): TSchema {
  return type === undefined
    ? (rest as TSchema)
    : ({ ...rest, type: type.filter((name: string) => name !== "integer") } as TSchema);
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

/** An item of a batch that could not be answered, with those of its names that are in order. */
type RefusedSeries = Partial<Pick<Static<typeof FetchedSeries>, keyof typeof names>> & {
  values: never[];
  errors: Static<typeof ValidationIssue>[];
};

/** One schema for both: generated clients cannot distinguish two schemas without a field that names them. */
const BatchItem = Type.Unsafe<Static<typeof FetchedSeries> | RefusedSeries>({
  title: "BatchItem",
  type: "object",
  description:
    "A series, or (with `errors`) why it could not be answered: then it has no values, and only those of its names that are in order.",
  required: ["values"],
  additionalProperties: false,
  properties: { ...FetchedSeries.properties, errors: Type.Array(ValidationIssue, { minItems: 1 }) },
});

/** The response to GET. */
export const metricAnswer = success("MetricAnswer", Type.Array(FetchedSeries));

/** The response to POST: an item of a batch can be refused in its place. */
export const metricBatchAnswer = success("MetricBatchAnswer", Type.Array(BatchItem));

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
