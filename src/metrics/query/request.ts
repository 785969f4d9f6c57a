import { invalid } from "../../errors.js";
import { type BucketGrid, bucketGrid } from "../../formats/buckets.js";
import { intervalRule, parseInterval } from "../../formats/duration.js";
import { type TimeZone, timeZone, utc } from "../../formats/time-zone.js";
import { dimensionIdRule, isDimensionId } from "../../reserved-names.js";
import { hasAtMost } from "../../text.js";
import {
  type Aggregation,
  aggregations,
  type Dimension,
  dimensionNamed,
  dimensionNames,
  isCounted,
} from "../dimensions.js";
import { type RequestedWindow, type TimeWindow, timeWindow } from "./time-window.js";

/** A requested series: unchecked texts and flags. */
export interface RequestedSeries extends RequestedWindow {
  readonly dimension?: string | undefined;
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly aggregation?: string | undefined;
  readonly interval?: string | undefined;
  readonly timezone?: string | undefined;
  readonly fillEmpty?: boolean | undefined;
  readonly smooth?: boolean | undefined;
}

/** One checked series to fetch. */
export interface SeriesRequest {
  readonly dimension: Dimension;
  readonly id: string;
  /** A stored type of the dimension, or one of its ratios. */
  readonly type: string;
  readonly aggregation: Aggregation;
  readonly grid: BucketGrid;
  readonly window: TimeWindow;
  readonly fillEmpty: boolean;
  readonly smooth: boolean;
  /** Name of the dimension, label and interval of the request, for the answer. */
  readonly asked: { readonly dimension: string; readonly name?: string | undefined; readonly interval: string };
}

const DEFAULT_INTERVAL = "2h";

/** Maximum characters of a name. */
export const NAME_LENGTH = 256;

/** Checks a request as of `now` (Unix ms). Throws `invalid` with the path of the first invalid field. */
export function seriesRequest(asked: RequestedSeries, now: number): SeriesRequest {
  const dimension = readDimension(asked.dimension);
  const id = readId(asked.id);
  const type = readType(asked.type, dimension);
  if (!isName(asked.name)) throw invalid("invalid_name", "name", `name must have at most ${NAME_LENGTH} characters`);
  const aggregation = readAggregation(asked.aggregation, { dimension, type });
  const { interval, zone, grid } = readBuckets(asked);
  return {
    dimension,
    id,
    type,
    aggregation,
    grid,
    window: timeWindow(asked, { grid, zone }, now),
    fillEmpty: asked.fillEmpty ?? false,
    smooth: asked.smooth ?? false,
    asked: { dimension: asked.dimension as string, name: asked.name, interval },
  };
}

/** Returns the requested buckets, with their interval and time zone. Throws as `seriesRequest` does. */
export function readBuckets(asked: Pick<RequestedSeries, "interval" | "timezone">) {
  const interval = parseInterval(asked.interval ?? DEFAULT_INTERVAL);
  if (interval === undefined) throw invalid("invalid_interval", "interval", `interval must be ${intervalRule}`);
  const zone = readTimeZone(asked.timezone);
  return { interval: interval.text, zone, grid: bucketGrid(interval, zone) };
}

/** Returns the valid name and dimension fields of an invalid request, for its response. */
export function validFields({ dimension: dimensionName, id, type, name }: RequestedSeries): RequestedSeries {
  const dimension = dimensionName === undefined ? undefined : dimensionNamed(dimensionName);
  return {
    dimension: dimension && dimensionName,
    id: id !== undefined && isDimensionId(id) ? id : undefined,
    type: type !== undefined && dimension !== undefined && typesOf(dimension).includes(type) ? type : undefined,
    name: isName(name) ? name : undefined,
  };
}

/** Returns every readable type of a dimension. */
export function typesOf(dimension: Dimension): string[] {
  return [...dimension.storedTypes, ...Object.keys(dimension.ratios)];
}

function readDimension(name: string | undefined): Dimension {
  if (name === undefined) throw required("dimension");
  const dimension = dimensionNamed(name);
  if (dimension !== undefined) return dimension;
  throw invalid("unknown_dimension", "dimension", `dimension must be one of ${dimensionNames.join(", ")}`);
}

function readId(id: string | undefined): string {
  if (id === undefined) throw required("dimension_id");
  if (!isDimensionId(id))
    throw invalid("invalid_dimension_id", "dimension_id", `dimension_id must be ${dimensionIdRule}`);
  return id;
}

function readType(type: string | undefined, dimension: Dimension): string {
  if (type === undefined) throw required("dimension_type");
  const types = typesOf(dimension);
  if (types.includes(type)) return type;
  throw invalid(
    "unknown_type",
    "dimension_type",
    `dimension_type of ${dimension.name} must be one of ${types.join(", ")}`,
  );
}

function readAggregation(name: string | undefined, series: Pick<SeriesRequest, "dimension" | "type">): Aggregation {
  if (name === undefined) return defaultAggregation(series);
  const aggregation = aggregations.find((known) => known === name);
  if (aggregation !== undefined) return aggregation;
  throw invalid("unknown_aggregation", "aggregation", `aggregation must be one of ${aggregations.join(", ")}`);
}

function readTimeZone(name: string | undefined): TimeZone {
  const zone = name === undefined ? utc : timeZone(name);
  if (zone !== undefined) return zone;
  throw invalid("unknown_timezone", "timezone", "timezone must be a name of the IANA database, such as Europe/Berlin");
}

/** Returns the aggregation of a request without one. */
export function defaultAggregation(series: Pick<SeriesRequest, "dimension" | "type">): Aggregation {
  return isCounted(series) ? "sum" : "max";
}

function isName(name: string | undefined): boolean {
  return name === undefined || hasAtMost(NAME_LENGTH, name);
}

function required(field: string): Error {
  return invalid("required", field, `${field} is required`);
}
