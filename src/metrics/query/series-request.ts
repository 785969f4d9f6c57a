import { invalid } from "../../errors.js";
import { type Duration, durationRule, formatDuration, parseDuration } from "../../formats/duration.js";
import { type Instant, instantRule, parseInstant } from "../../formats/instant.js";
import { hasAtMost } from "../../names.js";
import { type Aggregation, aggregations, type Dimension, dimensionNamed, dimensionNames } from "../dimensions.js";
import { dimensionIdRule, isDimensionId } from "../series.js";

/** A series as a request names it: texts and flags that are not checked yet. */
export interface AskedSeries extends AskedWindow {
  readonly dimension?: string | undefined;
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly aggregation?: string | undefined;
  readonly interval?: string | undefined;
  readonly fillEmpty?: boolean | undefined;
  readonly smooth?: boolean | undefined;
}

/** One series to fetch, understood. */
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
  /** The name of the dimension, the label and the interval as asked, for the answer. */
  readonly asked: { readonly dimension: string; readonly name?: string | undefined; readonly interval: string };
}

const DEFAULT_INTERVAL = "2h";

/** The most characters of a name. */
export const NAME_LENGTH = 256;

/** Understands a request as of `now` (Unix ms). Throws `invalid` with the name of the first field that is wrong as its path. */
export function seriesRequest(asked: AskedSeries, now: number): SeriesRequest {
  const dimension = readDimension(asked.dimension);
  const id = readId(asked.id);
  const type = readType(asked.type, dimension);
  if (!isName(asked.name)) throw invalid("bad_name", "name", `A text of at most ${NAME_LENGTH} characters is expected`);
  const aggregation = readAggregation(asked.aggregation, dimension);
  const interval = parseDuration(asked.interval ?? DEFAULT_INTERVAL);
  if (interval === undefined) throw invalid("bad_interval", "interval", `${durationRule}, is expected`);
  const grid = bucketGrid(interval);
  return {
    dimension,
    id,
    type,
    aggregation,
    grid,
    window: timeWindow(asked, grid, now),
    fillEmpty: asked.fillEmpty ?? false,
    smooth: asked.smooth ?? false,
    asked: { dimension: asked.dimension as string, name: asked.name, interval: interval.text },
  };
}

/** The name and the dimension fields, as far as they are in order, for the answer to a request that is not. */
export function soundFields({ dimension: dimensionName, id, type, name }: AskedSeries): AskedSeries {
  const dimension = dimensionName === undefined ? undefined : dimensionNamed(dimensionName);
  return {
    dimension: dimension && dimensionName,
    id: id !== undefined && isDimensionId(id) ? id : undefined,
    type: type !== undefined && dimension !== undefined && typesOf(dimension).includes(type) ? type : undefined,
    name: isName(name) ? name : undefined,
  };
}

/** Every type that a dimension answers for. */
export function typesOf(dimension: Dimension): string[] {
  return [...dimension.storedTypes, ...Object.keys(dimension.ratios)];
}

function readDimension(name: string | undefined): Dimension {
  if (name === undefined) throw required("dimension");
  const dimension = dimensionNamed(name);
  if (dimension !== undefined) return dimension;
  throw invalid("unknown_dimension", "dimension", `One of ${dimensionNames.join(", ")} is expected`);
}

function readId(id: string | undefined): string {
  if (id === undefined) throw required("id");
  if (!isDimensionId(id)) throw invalid("bad_dimension_id", "id", `${dimensionIdRule}, is expected`);
  return id;
}

function readType(type: string | undefined, dimension: Dimension): string {
  if (type === undefined) throw required("type");
  const types = typesOf(dimension);
  if (types.includes(type)) return type;
  throw invalid("unknown_type", "type", `For ${dimension.name}, one of ${types.join(", ")} is expected`);
}

function readAggregation(name: string | undefined, dimension: Dimension): Aggregation {
  if (name === undefined) return dimension.defaultAggregation;
  const aggregation = aggregations.find((known) => known === name);
  if (aggregation !== undefined) return aggregation;
  throw invalid("unknown_aggregation", "aggregation", `One of ${aggregations.join(", ")} is expected`);
}

function isName(name: string | undefined): boolean {
  return name === undefined || hasAtMost(NAME_LENGTH, name);
}

function required(field: string): Error {
  return invalid("required", field, `{${field}} is required`);
}

/** The window as it was asked for. */
export interface AskedWindow {
  readonly start?: string | number | undefined;
  readonly end?: string | number | undefined;
  readonly range?: string | undefined;
}

/** [from, to), Unix ms, and its length as the answer names it. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
  readonly range: string;
  /** From this instant on (Unix ms) the same words may mean buckets or a range that differ; each instant may be the last for some. */
  readonly standsUntil: number;
}

const DEFAULT_RANGE: Duration = { text: "2d", unit: "d", ms: 2 * 86_400_000 };

/**
 * The window asked for. Without an end it ends now; without a start it is 2 days long. A relative start is moved down to a
 * bucket boundary, so that the first bucket is whole; an absolute instant is exact. Throws when the words contradict.
 */
export function timeWindow(asked: AskedWindow, grid: BucketGrid, now: number): TimeWindow {
  if (asked.range !== undefined) {
    const field = asked.start !== undefined ? "start" : asked.end !== undefined ? "end" : undefined;
    if (field !== undefined) throw invalid("range_with_date", "range", `range cannot be combined with {${field}}`);
    const range = parseRange(asked.range);
    const from = bucketStart(grid, now - range.ms);
    return { from, to: now, range: range.text, standsUntil: from + grid.step + range.ms };
  }
  const end = asked.end === undefined ? undefined : readInstant(asked.end, "end", now);
  const to = end?.at ?? now;
  const start = asked.start === undefined ? back(to) : readInstant(asked.start, "start", now);
  if (to < start.at) throw invalid("end_before_start", "end", "The end of the window is before its start");
  if (to === start.at) return { from: to, to, range: formatDuration(0), standsUntil: 0 };
  const from = start.relative ? bucketStart(grid, start.at) : start.at;
  const range = end === undefined && start.ago !== undefined ? start.ago : formatDuration(to - from);
  return { from, to, range, standsUntil: standsUntil(start, end, from, grid, now) };
}

/** A window between fixed instants stands for ever, one that is counted back from now until it takes its next step. */
function standsUntil(start: Instant, end: Instant | undefined, from: number, grid: BucketGrid, now: number): number {
  if (!start.relative && end !== undefined && !end.relative) return Number.POSITIVE_INFINITY;
  return start.ago !== undefined && end === undefined ? from + grid.step + (now - start.at) : 0;
}

function back(to: number): Instant {
  return { at: to - DEFAULT_RANGE.ms, relative: true, ago: DEFAULT_RANGE.text };
}

function parseRange(text: string): Duration {
  const range = parseDuration(text.startsWith("now-") ? text.slice(4) : text);
  if (range === undefined) throw invalid("bad_range", "range", `${durationRule}, is expected`);
  return range;
}

function readInstant(written: string | number, field: string, now: number): Instant {
  const instant = parseInstant(written, now);
  if (instant === undefined) throw invalid("bad_date", field, `${instantRule} is expected`);
  return instant;
}

/** Buckets are counted from here: 1970-01-01T00:00Z, and Monday 1970-01-05 for weeks. */
const FIRST_MONDAY = 4 * 86_400_000;

/** How time is cut into buckets. All Unix ms. */
export interface BucketGrid {
  /** Start of one of the buckets; the others lie at multiples of `step` from it. */
  readonly origin: number;
  readonly step: number;
}

/** The buckets of an interval. */
export function bucketGrid(interval: Duration): BucketGrid {
  return { origin: interval.unit === "w" ? FIRST_MONDAY : 0, step: interval.ms };
}

/** Start of the bucket that holds an instant. */
export function bucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.floor((ms - origin) / step) * step + origin;
}

/** Start of the first bucket that begins at or after an instant. */
export function nextBucketStart({ origin, step }: BucketGrid, ms: number): number {
  return Math.ceil((ms - origin) / step) * step + origin;
}
