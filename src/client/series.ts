import type { Issue } from "./request.js";

type Reach = "size" | "potentialreach" | "actualreach" | "converted";

interface SeriesOf<Dimension, Type> {
  readonly dimension: Dimension;
  readonly dimension_id: string;
  readonly dimension_type: Type;
}

/** A writable series: the stored types of each dimension. */
export type StoredSeries =
  | SeriesOf<"experience", Reach>
  | SeriesOf<"experiencegroup", Reach>
  | SeriesOf<"segment" | "segsize", "size" | "joined" | "left">
  | SeriesOf<"stream", "size">;

/** A readable series: the stored and computed types of each dimension. */
export type ReadableSeries =
  | SeriesOf<"experience", Reach | "conversionrate">
  | SeriesOf<"experiencegroup", Reach | "conversionrate">
  | SeriesOf<"segment" | "segsize", "size" | "joined" | "left">
  | SeriesOf<"stream", "size">;

/** Window and buckets of a series to read. Absent fields have the service's defaults. */
export interface Bucketing {
  readonly name?: string;
  readonly aggregation?: string;
  readonly interval?: string;
  readonly timezone?: string;
  readonly range?: string;
  readonly startdate?: string | number;
  readonly enddate?: string | number;
  readonly include_empty_rows?: boolean;
  readonly smooth?: boolean;
  /** @deprecated Another spelling of `startdate`. */
  readonly start_date?: string | number;
  /** @deprecated Another spelling of `enddate`. */
  readonly end_date?: string | number;
}

/** A series to read: dimension, id, type and bucketing. */
export type SeriesRequest = ReadableSeries & Bucketing;

export type Aggregation = "sum" | "max" | "min";

export interface FetchedSeries {
  name: string;
  dimension: string;
  dimension_id: string;
  dimension_type: string;
  range: string;
  aggregation: Aggregation;
  interval: string;
  is_cached: boolean;
  complete_until: string;
  next_save_at: string;
  /** Ascending by `ts`, the start of a bucket in Unix ms. */
  values: { value: number; ts: string }[];
}

/** An item of a batch that failed, with its valid names. */
export type RefusedSeries = Partial<Pick<FetchedSeries, "name" | "dimension" | "dimension_id" | "dimension_type">> & {
  values: never[];
  errors: Issue[];
};

/** A series of a batch: its values, or `errors`. */
export type SeriesAnswer = FetchedSeries | RefusedSeries;

/**
 * `ts` is Unix ms. Only added points may have a `source`. A block has a list of values per series: a number or null for
 * each `ts`.
 */
export type Points =
  | readonly (StoredSeries & { readonly value: number; readonly ts: number | string; readonly source?: string })[]
  | {
      readonly series: readonly StoredSeries[];
      readonly ts: readonly (number | string)[];
      readonly values: readonly (readonly (number | null)[])[];
    };
