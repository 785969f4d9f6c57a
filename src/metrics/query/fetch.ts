import { yieldWhenDue } from "../../async/yielding.js";
import { ServiceError, type ValidationIssue } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import type { Meters } from "../../meters.js";
import { joinVersions, type VersionVector } from "../cache/generations.js";
import type { Dimension } from "../dimensions.js";
import { isSum } from "../series.js";
import { checkAnswer, checkExpanded, checkValues, MAX_SEGMENTS, tooManySegments, valuesOf } from "./cost.js";
import { type SeriesPlan, seriesPlan } from "./plan.js";
import type { FetchedSeries, ReadPlans } from "./read-plans.js";
import { type RequestedSeries, seriesRequest, validFields } from "./request.js";

/** One item of a batch: its valid fields and its errors. */
export interface RequestedItem {
  readonly asked: RequestedSeries;
  readonly issue?: ValidationIssue | undefined;
  /** Position of the item, a prefix of its issues' paths: `[3]`, or nothing for a single item. */
  readonly at: string;
}

/** An item that could not be fetched, with its valid fields. */
export interface RefusedSeries {
  readonly issue: ValidationIssue;
  readonly asked: RequestedSeries;
}

export interface FetchDependencies {
  readonly read: ReadPlans;
  /** Returns the number of series of a dimension. */
  countSeries(dimension: Dimension): Promise<number>;
  /** Returns the ids of at most `limit` segments of the catalogue, in code unit order. */
  firstSegments(limit: number): Promise<string[]>;
  /** Maximum values of a response. */
  readonly maxValues: number;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
  readonly count: CountSeries;
}

/** The series of a batch. */
export interface FetchedBatch {
  /** In the order of the request. */
  readonly series: readonly (FetchedSeries | RefusedSeries)[];
  /** The series can be returned for the same items while the versions are current, before this instant (Unix ms). */
  readonly freshUntil: number;
  readonly versions: VersionVector;
}

/**
 * Fetches the series of a batch as of `now` (Unix ms), in order. An invalid item is returned in its place; an item for
 * every segment becomes one series per segment. Throws if every item is invalid, the response would be too large, or a
 * store fails.
 */
export type FetchBatch = (items: readonly RequestedItem[], now: number, reading: Reservation) => Promise<FetchedBatch>;

export function fetchBatch({
  read,
  countSeries,
  firstSegments,
  maxValues,
  retention,
  count,
}: FetchDependencies): FetchBatch {
  return async (items, now, reading) => {
    const retentionMs = retention();
    const readable: (SeriesPlan | RefusedSeries)[] = [];
    let values = 0;
    for (const item of items) {
      const planned = plan(item, now, retentionMs);
      readable.push(planned);
      if (isPlan(planned) && !isForEvery(planned)) values += valuesOf(planned);
      // The others need not be planned.
      checkValues(values, maxValues);
      await yieldWhenDue();
    }
    const ids = readable.some(isForEvery) ? await firstSegments(MAX_SEGMENTS + 1) : [];
    const planned =
      ids.length <= MAX_SEGMENTS
        ? readable
        : readable.map((item, i) => (isForEvery(item) ? refuse(items[i] as RequestedItem, tooManySegments) : item));
    const refused = planned.filter((item): item is RefusedSeries => "issue" in item);
    if (refused.length === items.length) throw everyItemIsBad(refused);
    const expandable = planned.filter(isForEvery).length;
    checkExpanded(expandable * ids.length);
    const expanded = (await Promise.all(planned.map(weighed))).flatMap<SeriesPlan | RefusedSeries>((item) =>
      isForEvery(item) ? ids.map((id) => seriesPlan({ ...item.request, id }, now, retentionMs)) : item,
    );
    const plans = expanded.filter(isPlan);
    checkAnswer(plans, maxValues);
    const fetched = await read(plans, now, retentionMs, reading);
    count(fetched.length, fetched.filter(({ isCached }) => isCached).length);
    const inOrder = fetched.values();
    // An invalid item, and the list of segments, may differ the next time.
    const isReusable = refused.length === 0 && expandable === 0;
    return {
      series: expanded.map((item) => (isPlan(item) ? (inOrder.next().value as FetchedSeries) : item)),
      freshUntil: isReusable ? Math.min(...fetched.map(({ freshUntil }) => freshUntil)) : 0,
      versions: joinVersions(fetched.map(({ versions }) => versions)),
    };
  };

  /** Adds the number of series to plans of sums, from which the number of slots that they read is computed. */
  async function weighed(item: SeriesPlan | RefusedSeries): Promise<SeriesPlan | RefusedSeries> {
    if (!isPlan(item) || !isSum(item.request)) return item;
    return { ...item, seriesCount: await countSeries(item.request.dimension) };
  }
}

function plan(item: RequestedItem, now: number, retentionMs: number | undefined): SeriesPlan | RefusedSeries {
  if (item.issue !== undefined) return refuse(item, item.issue);
  try {
    return seriesPlan(seriesRequest(item.asked, now), now, retentionMs);
  } catch (error) {
    const issue = error instanceof ServiceError ? error.issues[0] : undefined;
    if (issue === undefined) throw error;
    return refuse(item, issue);
  }
}

function refuse(item: RequestedItem, issue: ValidationIssue): RefusedSeries {
  return { issue: { ...issue, path: pathOf(item.at, issue.path) }, asked: validFields(item.asked) };
}

function isPlan(item: SeriesPlan | RefusedSeries): item is SeriesPlan {
  return "request" in item;
}

function isForEvery(item: SeriesPlan | RefusedSeries): item is SeriesPlan {
  return isPlan(item) && item.request.id === item.request.dimension.everyId;
}

function pathOf(at: string, field: string): string {
  return at === "" || field === "" ? `${at}${field}` : `${at}.${field}`;
}

function everyItemIsBad(refused: readonly RefusedSeries[]): ServiceError {
  const issues = refused.map(({ issue }) => issue);
  const message = issues.length === 1 ? (issues[0] as ValidationIssue).message : "No item of the batch can be answered";
  return new ServiceError("invalid", message, { issues });
}

/** Counts series for `/metrics`: all requested series, and the series served without a store read. */
export type CountSeries = (asked: number, cached: number) => void;

export function seriesCounters(meters: Pick<Meters, "counter">): CountSeries {
  const fetched = meters.counter("series_fetched_total", "Series that were asked for.");
  const cached = meters.counter("series_cached_total", "Series among them for which no store was read.");
  return (asked, fromMemory) => {
    fetched(asked);
    cached(fromMemory);
  };
}
