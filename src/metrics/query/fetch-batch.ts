import { ServiceError, type ValidationIssue } from "../../errors.js";
import type { Reservation } from "../../memory-budget.js";
import { joinTokens, type ReadToken } from "../cache/epochs.js";
import type { Dimension } from "../dimensions.js";
import { isSum } from "../series.js";
import type { CountSeries, FetchedSeries, FetchSeries } from "./fetch-series.js";
import {
  type AnswerLimits,
  checkAnswer,
  checkBuckets,
  checkExpanded,
  type SeriesPlan,
  seriesPlan,
} from "./series-plan.js";
import { type AskedSeries, seriesRequest, soundFields } from "./series-request.js";

/** One item of a batch: what was asked as far as it could be read, and what could not. */
export interface AskedItem {
  readonly asked: AskedSeries;
  readonly issue?: ValidationIssue | undefined;
  /** Where the item stands, before the path of an issue in it: `[3]`, or nothing for an item that stands alone. */
  readonly at: string;
}

/** An item that could not be fetched, with the fields of it that are in order. */
export interface RefusedSeries {
  readonly issue: ValidationIssue;
  readonly asked: AskedSeries;
}

export interface FetchBatchParts {
  readonly fetch: FetchSeries;
  /** How many series the sum over all series of a dimension is made of. */
  summed(dimension: Dimension): Promise<number>;
  /** Ids of at most `limit` segments of the catalogue, in code unit order. */
  firstSegments(limit: number): Promise<string[]>;
  readonly limits: AnswerLimits;
  /** How long points are kept, ms; undefined is for ever. */
  keep(): number | undefined;
  readonly count: CountSeries;
}

/** What a batch comes to. */
export interface FetchedBatch {
  /** In the order asked. */
  readonly series: readonly (FetchedSeries | RefusedSeries)[];
  /** Undefined when an item was refused, or stands for every segment. */
  readonly reuse: Reuse | undefined;
}

/** The same items have the same series again from now on, while the token is current, and before `until` (Unix ms); the same plans also when it is not. */
export interface Reuse {
  readonly token: ReadToken;
  readonly until: number;
  readonly plans: readonly SeriesPlan[];
}

/**
 * The series of a batch as of `now` (Unix ms), in order; a bad item comes back in its place, and the id that stands for every
 * segment as one series for each. An item that is planned already, by a plan that still stands, is fetched as it is. Throws when every item is bad, or the
 * answer would be too large, or a store fails.
 */
export type FetchBatch = (
  items: readonly AskedItem[] | readonly SeriesPlan[],
  now: number,
  reading: Reservation,
) => Promise<FetchedBatch>;

/** Maximum segments of the catalogue for an item that requests all of them. */
const MOST_SEGMENTS = 1_000;

export function fetchBatch({ fetch, summed, firstSegments, limits, keep, count }: FetchBatchParts): FetchBatch {
  return async (items, now, reading) => {
    const kept = keep();
    const readable = items.map((item) => ("key" in item ? item : plan(item, now, kept, limits)));
    const ids = readable.some(isForEvery) ? await firstSegments(MOST_SEGMENTS + 1) : [];
    const planned =
      ids.length <= MOST_SEGMENTS
        ? readable
        : readable.map((item, i) => (isForEvery(item) ? tooManySegments(items[i] as AskedItem) : item));
    const refused = planned.filter((item): item is RefusedSeries => "issue" in item);
    if (refused.length === items.length) throw everyItemIsBad(refused);
    checkExpanded(planned.filter(isForEvery).length * ids.length);
    const expanded = (await weighed(planned)).flatMap<SeriesPlan | RefusedSeries>((item) =>
      isForEvery(item) ? ids.map((id) => seriesPlan({ ...item.request, id }, now, kept)) : item,
    );
    const plans = expanded.filter((item): item is SeriesPlan => "key" in item);
    checkAnswer(plans, limits);
    const fetched = await fetch(plans, now, reading);
    count(fetched.length, fetched.filter(({ isCached }) => isCached).length);
    let next = 0;
    return {
      series: expanded.map((item) => ("key" in item ? (fetched[next++] as FetchedSeries) : item)),
      reuse: refused.length > 0 || planned.some(isForEvery) ? undefined : reuseOf(fetched, now),
    };
  };

  /** Gives plans of sums the number of their series, which bounds how many slots are read. */
  async function weighed(planned: readonly (SeriesPlan | RefusedSeries)[]): Promise<typeof planned> {
    if (!planned.some(isOfSum)) return planned;
    return Promise.all(
      planned.map(async (item) => {
        if (!isOfSum(item)) return item;
        return { ...item, summed: await summed(item.request.dimension) };
      }),
    );
  }
}

/** Until when the same items come to the same plans, their values change by no schedule, and nothing is written. */
function reuseOf(fetched: readonly FetchedSeries[], now: number): Reuse | undefined {
  const until = Math.min(...fetched.map(({ plan, scheduledUntil }) => Math.min(plan.standsUntil, scheduledUntil)));
  if (until <= now) return undefined;
  return { token: joinTokens(fetched.map(({ token }) => token)), until, plans: fetched.map(({ plan }) => plan) };
}

function plan(
  item: AskedItem,
  now: number,
  kept: number | undefined,
  limits: AnswerLimits,
): SeriesPlan | RefusedSeries {
  if (item.issue !== undefined) return refuse(item, item.issue);
  try {
    const planned = seriesPlan(seriesRequest(item.asked, now), now, kept);
    checkBuckets(planned, limits);
    return planned;
  } catch (error) {
    const issue = error instanceof ServiceError ? error.issues[0] : undefined;
    if (issue === undefined) throw error;
    return refuse(item, issue);
  }
}

function tooManySegments(item: AskedItem): RefusedSeries {
  const message = `The catalogue holds more than ${MOST_SEGMENTS} segments; request them by their ids`;
  return refuse(item, { code: "too_many_segments", path: "id", message });
}

function refuse(item: AskedItem, issue: ValidationIssue): RefusedSeries {
  return { issue: { ...issue, path: pathOf(item.at, issue.path) }, asked: soundFields(item.asked) };
}

function isForEvery(item: SeriesPlan | RefusedSeries): item is SeriesPlan {
  return "key" in item && item.request.id === item.request.dimension.everyId;
}

function isOfSum(item: SeriesPlan | RefusedSeries): item is SeriesPlan {
  return "key" in item && isSum(item.request);
}

function pathOf(at: string, field: string): string {
  return at === "" || field === "" ? `${at}${field}` : `${at}.${field}`;
}

function everyItemIsBad(refused: readonly RefusedSeries[]): ServiceError {
  const issues = refused.map(({ issue }) => issue);
  const message = issues.length === 1 ? (issues[0] as ValidationIssue).message : "No item of the batch can be answered";
  return new ServiceError("invalid", message, { issues });
}
