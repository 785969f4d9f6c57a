import { type Aggregation, ApiError, type Client, type SeriesAnswer, type SeriesRequest } from "../client/client.js";
import { SHOWS_BEGIN_MS, sinceBegun } from "../formats/compared-windows.js";
import { type Address, nameOf, type SeriesName, seriesNamed } from "./address.js";
import { slotOf } from "./dimensions.js";
import { DAY } from "./duration.js";
import { isCounted, type Unit, unitOf, type Zone } from "./format.js";
import {
  datesOf,
  endOf,
  gridOf,
  newestWindow,
  type TimeWindow,
  type Viewed,
  windowBefore,
  windowOf,
} from "./time-window.js";

/** One value for each bucket of a window; null where nothing was saved. */
export type Values = readonly (number | null)[];

/** A series with its values in the buckets of its window. Times are Unix ms. */
export interface Series {
  readonly name: string;
  readonly label: string;
  readonly unit: Unit;
  readonly window: TimeWindow;
  readonly aggregation: Aggregation;
  readonly values: Values;
  /** The same buckets of the window before, when it was requested. */
  readonly before: Values | undefined;
  /** First bucket of counts that is compared with the window before: see `sinceBegun`; undefined if there is none. */
  readonly comparedFrom?: number | undefined;
  /** Buckets that end by then cannot change any more through a scheduled save. */
  readonly completeUntil: number;
  readonly nextSaveAt: number;
  /** Whether it is the sum of all series without a line of their own. */
  readonly isRest?: boolean;
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
  /** Replaces the window of the address; aggregation and smoothing of the address are then ignored. */
  readonly window?: TimeWindow;
  /** Requests the window before too; the address decides when absent. */
  readonly compare?: boolean;
}

export interface Fetched {
  readonly series: readonly Series[];
  readonly refused: readonly Refused[];
}

export interface FetchOptions extends Viewed {
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** Maximum series per request of the service. */
const SERIES_PER_REQUEST = 100;

/** Fetches series of one dimension in the window of the address and in `newestWindow`, in one request. */
export async function fetchWithRecent(
  wanted: readonly WantedSeries[],
  options: FetchOptions,
  window: TimeWindow = newestWindow(options, wanted[0]?.dimension ?? ""),
): Promise<{ readonly recent: Fetched; readonly fetched: Fetched }> {
  const both = [...wanted.map((one) => ({ ...one, window, compare: false })), ...wanted];
  const { series, refused } = await fetchSeries(both, options);
  const once = refused.filter(({ name }, at) => refused.findIndex((one) => one.name === name) === at);
  return {
    recent: { series: series.filter((one) => one.window === window), refused: once },
    fetched: { series: series.filter((one) => one.window !== window), refused: once },
  };
}

interface Part {
  readonly wanted: WantedSeries;
  readonly window: TimeWindow;
  readonly request: SeriesRequest;
}

/** A part, the window before it, and of counts the time that shows whether they began before both. */
interface ComparedPart extends Part {
  readonly before?: Part | undefined;
  readonly begin?: Part | undefined;
}

/**
 * Fetches all series of a view, and on request the window before, with one request per hundred series. A series that
 * the service rejects does not affect the others. Rejects with the first error that concerns the whole request.
 */
export async function fetchSeries(wanted: readonly WantedSeries[], options: FetchOptions): Promise<Fetched> {
  const parts = wanted.map((one) => comparedPart(one, options));
  const earlier = parts.flatMap(({ before, begin }) => [before, begin].filter((part) => part !== undefined));
  const isLong = parts.some(({ window }) => window.to - window.from > LONG);
  const requests = isLong ? [parts, earlier] : [[...parts, ...earlier]];
  const answers = (await Promise.all(requests.map((one) => requestAll(one, options)))).flat();
  return joined(parts, new Map([...parts, ...earlier].map((part, index) => [part, answers[index]])), options);
}

function comparedPart(wanted: WantedSeries, options: FetchOptions): ComparedPart {
  const part = (window: TimeWindow): Part => ({ wanted, window, request: requestOf(wanted, window, options.address) });
  const window = wanted.window ?? windowOf(options, wanted.dimension);
  if (!(wanted.compare ?? options.address.compare)) return part(window);
  const before = windowBefore(window, options);
  const begin = { from: before.from - SHOWS_BEGIN_MS, to: before.from, interval: "4w", buckets: [] };
  const isCount = isCounted(unitOf(wanted.dimension, wanted.dimension_type));
  return { ...part(window), before: part(before), begin: isCount ? part(begin) : undefined };
}

/**
 * Windows that are longer than this are requested apart from the windows before, ms. The sum of all streams reads the
 * slots of each of them, so 52 weeks of a few hundred streams are half of what the service reads for one response.
 */
const LONG = 26 * 7 * DAY;

/** Requests series, up to a hundred at a time. */
async function requestAll(parts: readonly Part[], options: FetchOptions): Promise<SeriesAnswer[]> {
  const requests = parts.map(({ request }) => request);
  const answers: SeriesAnswer[] = [];
  for (let first = 0; first < requests.length; first += SERIES_PER_REQUEST)
    answers.push(...(await requestBatch(requests.slice(first, first + SERIES_PER_REQUEST), options)));
  return answers;
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
    ...(window.timezone === undefined ? {} : { timezone: window.timezone }),
    ...datesOf(window),
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(follows && address.smooth ? { smooth: true } : {}),
  } as SeriesRequest;
}

/**
 * A batch in which every series is wrong is refused as a whole: its issues name the series by position. A batch that is
 * too much for one response is requested in halves.
 */
async function requestBatch(
  requests: readonly SeriesRequest[],
  { client, signal }: Pick<FetchOptions, "client" | "signal">,
): Promise<readonly SeriesAnswer[]> {
  try {
    return await client.metrics(requests, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    if (requests.length > 1 && error.issues.every(({ path }) => path === "")) {
      const half = Math.ceil(requests.length / 2);
      const halves = [requests.slice(0, half), requests.slice(half)];
      return (await Promise.all(halves.map((one) => requestBatch(one, { client, signal })))).flat();
    }
    return requests.map((_, index) => {
      const own = error.issues.filter(({ path }) => path.startsWith(`[${index}]`));
      const errors = own.length > 0 ? own : [{ code: "refused", path: "", message: error.message }];
      return { errors, values: [] } as unknown as SeriesAnswer;
    });
  }
}

function joined(
  parts: readonly ComparedPart[],
  answers: ReadonlyMap<Part, SeriesAnswer | undefined>,
  { zone }: Viewed,
): Fetched {
  const series: Series[] = [];
  const refused: Refused[] = [];
  for (const part of parts) {
    const { wanted, window, before, begin } = part;
    const answer = answers.get(part) as SeriesAnswer;
    const name = nameOf(wanted);
    const label = wanted.label ?? name;
    const unit = unitOf(wanted.dimension, wanted.dimension_type);
    if (!isSeries(answer)) {
      refused.push({ name, label, unit, why: answer.errors?.[0]?.message ?? "The service refused this series" });
      continue;
    }
    const earlier = before && inBuckets(answers.get(before), before.window);
    const first = earlier?.findIndex((value) => value !== null) ?? -1;
    const hasBegun = begin !== undefined && (answers.get(begin)?.values ?? []).length > 0;
    const begun = hasBegun ? Number.NEGATIVE_INFINITY : before?.window.buckets[first];
    series.push({
      name,
      label,
      unit,
      window,
      aggregation: answer.aggregation,
      values: inBuckets(answer, window),
      before: earlier,
      comparedFrom: before && begun !== undefined ? firstCompared(part, before.window, begun, zone) : undefined,
      completeUntil: Number(answer.complete_until),
      nextSaveAt: Number(answer.next_save_at),
    });
  }
  return { series, refused };
}

type Answered = Exclude<SeriesAnswer, { errors: unknown }>;

/** Whether the answer has values; a refused one has `errors`. */
const isSeries = (answer: SeriesAnswer): answer is Answered => !("errors" in answer);

function inBuckets(answer: SeriesAnswer | undefined, { buckets }: TimeWindow): Values {
  const values = new Map((answer?.values ?? []).map(({ ts, value }) => [Number(ts), value]));
  return buckets.map((ts) => values.get(ts) ?? null);
}

/** Returns the first bucket of counts that is compared with the same one of the window before. */
function firstCompared({ wanted, window }: Part, before: TimeWindow, begun: number, zone: Zone): number | undefined {
  const windows = { before: before.from, start: window.from, end: window.to };
  const compared = sinceBegun(gridOf(window.interval, zone), windows, begun, slotOf(wanted.dimension));
  return compared && window.buckets.indexOf(compared.start);
}

/** Whether a bucket of the series can still change through a scheduled save. */
export const isUnfinished = ({ window, completeUntil }: Series, index: number): boolean =>
  endOf(window, index) > completeUntil;

const slot = ({ name }: Pick<Series, "name">) => slotOf(seriesNamed(name)?.dimension ?? "");

/**
 * Until when the values are complete, as the page shows it. The only value of a slot of samples is saved at its start,
 * so the slot is complete although it is open: its start is shown, not a time in the future.
 */
export const shownCompleteUntil = ({ name, completeUntil }: Series, now: number): number =>
  completeUntil > now ? completeUntil - slot({ name }) : completeUntil;

/** The newest saved value; null without one. */
export const newestOf = (series: Series | undefined): number | null => newestSlot(series)?.value ?? null;

/** The newest saved value with the start of its bucket, Unix ms; undefined without one. */
export function newestSlot(series: Series | undefined): { readonly at: number; readonly value: number } | undefined {
  const index = series?.values.findLastIndex((value) => value !== null) ?? -1;
  const [at, value] = [series?.window.buckets[index], series?.values[index]];
  return at === undefined || value == null ? undefined : { at, value };
}

/** Sum of the values that exist. */
export const sumOf = (values: Values): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

/**
 * Compares the series with the window before, in complete buckets: counts by their sums, from `comparedFrom` on; others
 * by the newest value and the value of the same bucket before. `at` is the first compared bucket. Undefined unless both
 * have values.
 */
export function comparisonOf(series: Series): { now: number; before: number; at: number } | undefined {
  const { values, before = [], comparedFrom: first } = series;
  const complete = values.filter((_, at) => !isUnfinished(series, at)).length;
  if (isCounted(series.unit) && series.aggregation === "sum") {
    if (first === undefined || first >= complete) return undefined;
    return { now: sumOf(values.slice(first, complete)), before: sumOf(before.slice(first, complete)), at: first };
  }
  const pairs = values.slice(0, complete).flatMap((now, at) => {
    const earlier = before[at];
    return now === null || earlier == null ? [] : [{ now, before: earlier, at }];
  });
  return pairs.at(-1);
}

/** The earliest instant at which requesting the series again can return something new; undefined without a series. */
export function nextSaveOf(series: readonly Series[]): number | undefined {
  return series.length === 0 ? undefined : Math.min(...series.map(({ nextSaveAt }) => nextSaveAt));
}
