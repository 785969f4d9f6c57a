import { ApiError, type Client, type SeriesAnswer, type SeriesRequest } from "../client/client.js";
import { type Address, nameOf, type SeriesName } from "./address.js";
import { isCounted, type Unit, unitOf } from "./format.js";
import { newestWindow, type TimeWindow, windowBefore, windowOf } from "./time-window.js";

/** One value for each bucket of a window; null where nothing was saved. */
export type Values = readonly (number | null)[];

/** A series with its values in the buckets of its window. Times are Unix ms. */
export interface Series {
  readonly name: string;
  readonly label: string;
  readonly unit: Unit;
  readonly window: TimeWindow;
  readonly aggregation: string;
  readonly values: Values;
  /** The same buckets of the window before, when it was requested. */
  readonly before: Values | undefined;
  /** Buckets that end by then cannot change any more through a scheduled save. */
  readonly completeUntil: number;
  readonly nextSaveAt: number;
}

/** A series that the service refused, with its error message. */
export interface Refused {
  readonly name: string;
  readonly label: string;
  readonly unit: Unit;
  readonly why: string;
}

export interface WantedSeries extends SeriesName {
  readonly label?: string;
  readonly aggregation?: string;
  /** Replaces the window of the address, and with it the aggregation and smoothing: figures do not depend on them. */
  readonly window?: TimeWindow;
  /** Requests the window before too; the address decides when absent. */
  readonly compare?: boolean;
}

export interface Fetched {
  readonly series: readonly Series[];
  readonly refused: readonly Refused[];
}

interface FetchOptions {
  readonly client: Client;
  readonly address: Address;
  /** Unix ms. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Maximum series per request of the service. */
const SERIES_PER_REQUEST = 100;

/** An older value does not count as current. */
const RECENT_DAYS = 28;

/**
 * Fetches series in their own windows, by default that of the last days, and in that of the address, in one request.
 * `hasValues`: one of them has a value in either window.
 */
export async function fetchWithRecent(
  wanted: readonly WantedSeries[],
  options: FetchOptions,
  window: TimeWindow = newestWindow(options.now, RECENT_DAYS),
): Promise<{ readonly recent: Fetched; readonly fetched: Fetched; readonly hasValues: boolean }> {
  const both = [...wanted.map((one) => ({ ...one, window, compare: false })), ...wanted];
  const { series, refused } = await fetchSeries(both, options);
  const once = refused.filter(({ name }, at) => refused.findIndex((one) => one.name === name) === at);
  return {
    recent: { series: series.filter((one) => one.window === window), refused: once },
    fetched: { series: series.filter((one) => one.window !== window), refused: once },
    hasValues: series.some((one) => newestOf(one) !== null),
  };
}

interface Part {
  readonly wanted: WantedSeries;
  readonly window: TimeWindow;
  readonly isBefore: boolean;
  readonly request: SeriesRequest;
}

/**
 * Fetches all series of a view, and on request the window before, with one request per hundred. A series that the
 * service rejects does not affect the others. Rejects with the first error that concerns the whole request.
 */
export async function fetchSeries(wanted: readonly WantedSeries[], options: FetchOptions): Promise<Fetched> {
  const parts = wanted.flatMap((one) => partsOf(one, options));
  const answers: SeriesAnswer[] = [];
  for (let first = 0; first < parts.length; first += SERIES_PER_REQUEST) {
    const requests = parts.slice(first, first + SERIES_PER_REQUEST).map(({ request }) => request);
    answers.push(...(await requestBatch(requests, options)));
  }
  return joined(parts, answers, options.address);
}

function partsOf(wanted: WantedSeries, { address, now }: FetchOptions): Part[] {
  const window = wanted.window ?? windowOf(address, wanted.dimension, now);
  const windows = (wanted.compare ?? address.compare) ? [window, windowBefore(window, address)] : [window];
  return windows.map((one, index) => ({
    wanted,
    window,
    isBefore: index === 1,
    request: requestOf(wanted, one, address),
  }));
}

/** The request for one series in one window. */
export function requestOf(wanted: WantedSeries, window: TimeWindow, address: Address): SeriesRequest {
  const follows = wanted.window === undefined;
  const aggregation = (follows ? address.aggregation : undefined) ?? wanted.aggregation;
  return {
    dimension: wanted.dimension,
    dimension_id: wanted.dimension_id,
    dimension_type: wanted.dimension_type,
    interval: window.interval,
    startdate: window.from,
    enddate: window.to,
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(follows && address.smooth ? { smooth: true } : {}),
  } as SeriesRequest;
}

/** A batch in which every series is wrong is refused as a whole: its issues name the series by position. */
async function requestBatch(
  requests: readonly SeriesRequest[],
  { client, signal }: FetchOptions,
): Promise<readonly SeriesAnswer[]> {
  try {
    return await client.metrics(requests, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    return requests.map((_, index) => {
      const own = error.issues.filter(({ path }) => path.startsWith(`[${index}]`));
      const errors = own.length > 0 ? own : [{ code: "refused", path: "", message: error.message }];
      return { errors, values: [] } as unknown as SeriesAnswer;
    });
  }
}

function joined(parts: readonly Part[], answers: readonly SeriesAnswer[], address: Address): Fetched {
  const series: Series[] = [];
  const refused: Refused[] = [];
  parts.forEach(({ wanted, window, isBefore }, index) => {
    const answer = answers[index] as SeriesAnswer;
    if (isBefore) return;
    const name = nameOf(wanted);
    const label = wanted.label ?? name;
    const unit = unitOf(wanted.dimension, wanted.dimension_type);
    if (!isSeries(answer)) {
      refused.push({ name, label, unit, why: answer.errors?.[0]?.message ?? "The service refused this series" });
      return;
    }
    const earlier = parts[index + 1]?.isBefore ? (answers[index + 1] as SeriesAnswer) : undefined;
    series.push({
      name,
      label,
      unit,
      window,
      aggregation: String(answer.aggregation),
      values: inBuckets(answer, window.from, window),
      before: earlier && inBuckets(earlier, windowBefore(window, address).from, window),
      completeUntil: Number(answer.complete_until),
      nextSaveAt: Number(answer.next_save_at),
    });
  });
  return { series, refused };
}

type Answered = Exclude<SeriesAnswer, { errors: unknown }>;

/** Whether the answer has values; a refused one has `errors`. */
const isSeries = (answer: SeriesAnswer): answer is Answered => !("errors" in answer);

function inBuckets(answer: SeriesAnswer, from: number, { step, buckets }: TimeWindow): Values {
  const values: (number | null)[] = buckets.map(() => null);
  for (const { ts, value } of answer.values ?? []) {
    const at = Math.round((Number(ts) - from) / step);
    if (at >= 0 && at < values.length) values[at] = value;
  }
  return values;
}

/** Whether a bucket of the series can still change through a scheduled save. */
export const isUnfinished = ({ window, completeUntil }: Series, ts: number): boolean =>
  ts + window.step > completeUntil;

/** The newest saved value; null without one. */
export const newestOf = (series: Series | undefined): number | null =>
  series?.values.findLast((value) => value !== null) ?? null;

/**
 * Compares the series with the window before, in complete buckets: the sum of counts, otherwise the newest value and
 * that of the same bucket before. Undefined unless both have values.
 */
export function comparisonOf(series: Series): { now: number; before: number } | undefined {
  const pairs = series.values.flatMap((now, at) => {
    const before = series.before?.[at];
    const isOpen = isUnfinished(series, series.window.buckets[at] as number);
    return now === null || before == null || isOpen ? [] : [{ now, before }];
  });
  if (!isCounted(series.unit) || series.aggregation !== "sum") return pairs.at(-1);
  if (pairs.length === 0) return undefined;
  return pairs.reduce((sum, pair) => ({ now: sum.now + pair.now, before: sum.before + pair.before }));
}

/** The earliest instant at which requesting the series again can return something new; undefined without a series. */
export function nextSaveOf(series: readonly Series[]): number | undefined {
  return series.length === 0 ? undefined : Math.min(...series.map(({ nextSaveAt }) => nextSaveAt));
}
