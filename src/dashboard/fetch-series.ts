import { ApiError, type Client, type SeriesAnswer, type SeriesRequest } from "../client/client.js";
import { type Address, intervals, nameOf, type SeriesName } from "./address.js";
import { msOf, type Unit, unitOf } from "./format.js";

/** A series as it is drawn. Times are Unix ms. */
export interface Drawn {
  /** Its name, which also says which series it is. */
  readonly name: string;
  readonly label: string;
  readonly unit: Unit;
  readonly points: readonly { readonly ts: number; readonly value: number }[];
  readonly intervalMs: number;
  readonly completeUntil: number;
  readonly nextSaveAt: number;
  /** Whether it is the window before, moved on to the one that is shown. */
  readonly earlier: boolean;
}

/** A series that the service does not answer, in its words. */
export interface Refused {
  readonly name: string;
  readonly label: string;
  readonly why: string;
}

export interface Wanted extends SeriesName {
  readonly label?: string;
  readonly aggregation?: string;
}

export interface Fetched {
  readonly drawn: readonly Drawn[];
  readonly refused: readonly Refused[];
  /** When asking again can show something new; undefined when there is no series. */
  readonly nextSaveAt: number | undefined;
}

/** Buckets of a series at most: more cannot be told apart, and the window is a whole number of them. */
const MOST_BUCKETS = 200;
/** Series of one request at most, as the service has it. */
const MOST_SERIES = 100;

/** The least interval that gives at most 200 buckets, and is no shorter than a slot. */
export function intervalFor({ range, interval }: Pick<Address, "range" | "interval">, dimension: string): string {
  const slot = msOf(dimension === "segment" || dimension === "segsize" ? "2h" : "1h");
  if (interval !== undefined && msOf(interval) >= slot) return interval;
  const fits = (one: string) => msOf(one) >= slot && msOf(range) / msOf(one) <= MOST_BUCKETS;
  return intervals.find(fits) ?? "1w";
}

/** What is sent for the window that ends `ago` ms before now. Its first bucket is whole. */
export function requestFor(wanted: Wanted, address: Address, now: number, ago = 0): SeriesRequest {
  const interval = intervalFor(address, wanted.dimension);
  const step = msOf(interval);
  const start = Math.ceil((now - ago - msOf(address.range)) / step) * step;
  const aggregation = wanted.aggregation ?? address.aggregation;
  return {
    dimension: wanted.dimension,
    dimension_id: wanted.dimension_id,
    dimension_type: wanted.dimension_type,
    interval,
    startdate: start,
    ...(ago === 0 ? {} : { enddate: start + Math.ceil(msOf(address.range) / step) * step }),
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(address.smooth ? { smooth: true } : {}),
  };
}

/** Series of one window. */
export interface Group {
  readonly wanted: readonly Wanted[];
  readonly address: Address;
}

export async function fetchSeries(
  client: Client,
  wanted: readonly Wanted[],
  address: Address,
  now: number,
  signal: AbortSignal,
): Promise<Fetched> {
  const [fetched] = await fetchGroups(client, [{ wanted, address }], now, signal);
  return fetched as Fetched;
}

/** The series of all groups, and with `compare` those of the window before, by one request for each hundred. */
export async function fetchGroups(
  client: Client,
  groups: readonly Group[],
  now: number,
  signal: AbortSignal,
): Promise<Fetched[]> {
  const asked = groups.flatMap((group) =>
    group.wanted.flatMap((one) =>
      (group.address.compare ? [0, msOf(group.address.range)] : [0]).map((ago) => ({
        group,
        one,
        ago,
        request: requestFor(one, group.address, now, ago),
      })),
    ),
  );
  const answers: SeriesAnswer[] = [];
  for (let first = 0; first < asked.length; first += MOST_SERIES) {
    const requests = asked.slice(first, first + MOST_SERIES).map(({ request }) => request);
    answers.push(...(await client.metrics(requests, { signal }).catch((error) => refusedAll(requests, error))));
  }
  return groups.map((group) => {
    const drawn: Drawn[] = [];
    const refused: Refused[] = [];
    asked.forEach((each, index) => {
      if (each.group !== group) return;
      const { one, ago, request } = each;
      const answer = answers[index] as SeriesAnswer;
      const name = nameOf(one);
      const label = one.label ?? name;
      if ("errors" in answer) {
        if (ago === 0) refused.push({ name, label, why: answer.errors[0]?.message ?? "is not answered" });
        return;
      }
      const step = msOf(request.interval ?? "1h");
      const shift = Math.round(ago / step) * step;
      drawn.push({
        name,
        label: ago > 0 ? `${label}, before` : label,
        unit: unitOf(one.dimension, one.dimension_type),
        points: answer.values.map(({ ts, value }) => ({ ts: Number(ts) + shift, value })),
        intervalMs: step,
        completeUntil: Number(answer.complete_until) + shift,
        nextSaveAt: Number(answer.next_save_at),
        earlier: ago > 0,
      });
    });
    const saves = drawn.filter(({ earlier }) => !earlier).map(({ nextSaveAt }) => nextSaveAt);
    return { drawn, refused, nextSaveAt: saves.length === 0 ? undefined : Math.min(...saves) };
  });
}

/** The first items of a list. */
export async function take<T>(items: AsyncIterable<T>, most: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === most) break;
  }
  return taken;
}

export const isForbidden = (error: unknown): error is ApiError => error instanceof ApiError && error.status === 403;

/** Where the key may not see series, or the service finds each of them wrong, each has the words of the service. */
function refusedAll(requests: readonly SeriesRequest[], error: unknown): SeriesAnswer[] {
  if (!(error instanceof ApiError) || (error.status !== 403 && error.status !== 400)) throw error;
  const { issues, message } = error;
  return requests.map((_, index) => {
    const own = issues.filter(({ path }) => path.startsWith(`[${index}]`));
    return { errors: own.length > 0 ? own : [{ code: "refused", path: "", message }] } as SeriesAnswer;
  });
}

/** Whether the bucket that begins at `ts` may still change. */
export const isUnfinished = ({ intervalMs, completeUntil }: Drawn, ts: number) => ts + intervalMs > completeUntil;

/** The points whose buckets can no longer change: what may be compared. */
export const finished = (series: Drawn) => series.points.filter(({ ts }) => !isUnfinished(series, ts));
