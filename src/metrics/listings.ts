import { setImmediate } from "node:timers/promises";
import { type Dimension, dimensions, stream as streamDimension } from "./dimensions.js";
import type { CountedStream, SeriesStore, SlotCounts } from "./ports.js";
import { slotStart } from "./series.js";

/** An id in a dimension, with the stored types of which it has a point. */
export interface ListedSeries {
  readonly dimension: Dimension;
  readonly id: string;
  readonly types: readonly string[];
}

export interface SeriesPage {
  /** All dimensions when it is absent. */
  readonly dimension?: Dimension | undefined;
  /** Prefix of the ids. */
  readonly prefix: string;
  /** Part of the ids, as a `searchText`. */
  readonly contains: string;
  /** The last id of the previous page. */
  readonly after?: Pick<ListedSeries, "dimension" | "id"> | undefined;
  readonly limit: number;
  readonly descending: boolean;
}

const inOrder = [...dimensions].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Series that have a point, by the name of the dimension, then by id, in either order. */
export async function listSeries(
  store: Pick<SeriesStore, "list">,
  { dimension, after, limit, descending, ...among }: SeriesPage,
): Promise<ListedSeries[]> {
  const listed: ListedSeries[] = [];
  const all = descending ? inOrder.toReversed() : inOrder;
  const last = after === undefined ? 0 : all.indexOf(after.dimension);
  for (const one of dimension === undefined ? all : [dimension]) {
    if (all.indexOf(one) < last) continue;
    const from = after?.dimension === one ? { after: after.id } : {};
    const found = await store.list(one, { ...among, ...from, limit: limit - listed.length, descending });
    listed.push(...found.map((series) => ({ dimension: one, ...series })));
    if (listed.length >= limit) break;
  }
  return listed;
}

/** Number of these series. */
export async function countSeries(
  store: Pick<SeriesStore, "count">,
  { dimension, ...among }: Pick<SeriesPage, "dimension" | "prefix" | "contains">,
): Promise<number> {
  let count = 0;
  for (const one of dimension === undefined ? inOrder : [dimension]) count += await store.count(one, among);
  return count;
}

/** Messages of a stream. Times are Unix ms. */
export interface StreamActivity {
  readonly stream: string;
  readonly lastArrival: number;
  /** The open slot, and the messages counted in it so far. */
  readonly slot: { readonly ts: number; readonly count: number };
  /** Messages of the last 24 slots that have ended. */
  readonly day: number;
}

const DAY_SLOTS = 24;

/** Streams whose counts are read at once. */
const AT_ONCE = 500;

/** Returns the message counts of these streams as of `now` (Unix ms), in their order. */
export async function streamActivity(
  counts: Pick<SlotCounts, "counted">,
  streams: readonly CountedStream[],
  now: number,
): Promise<StreamActivity[]> {
  const { slotMs } = streamDimension;
  const open = slotStart(streamDimension, now);
  const totals = new Map(streams.map(({ stream }) => [stream, { open: 0, day: 0 }]));
  for (let at = 0; at < streams.length; at += AT_ONCE) {
    if (at > 0) await setImmediate();
    const names = streams.slice(at, at + AT_ONCE).map(({ stream }) => stream);
    for (const { stream, slot, count } of await counts.counted(names, open - DAY_SLOTS * slotMs, open + slotMs)) {
      const total = totals.get(stream);
      if (total !== undefined) total[slot === open ? "open" : "day"] += count;
    }
  }
  return streams.map(({ stream, lastArrival }) => {
    const total = totals.get(stream) ?? { open: 0, day: 0 };
    return { stream, lastArrival, slot: { ts: open, count: total.open }, day: total.day };
  });
}

/** Slots of all streams that are summed up at once. */
const SUMMED_AT_ONCE = 50_000;

/**
 * Returns the messages of each of these streams in the last `rangeMs` (rounded up to whole slots) that have ended at
 * `now` (Unix ms), and in as many slots before.
 */
export async function streamTrends(
  counts: Pick<SlotCounts, "totals">,
  streams: readonly string[],
  now: number,
  rangeMs: number,
): Promise<{ readonly now: number; readonly before: number }[]> {
  const { slotMs } = streamDimension;
  const open = slotStart(streamDimension, now);
  const slots = Math.ceil(rangeMs / slotMs);
  const most = Math.max(1, Math.floor(SUMMED_AT_ONCE / slots));
  const trends: { now: number; before: number }[] = [];
  for (let at = 0; at < streams.length; at += most) {
    if (at > 0) await setImmediate();
    const some = streams.slice(at, at + most);
    const last = await counts.totals(some, open - slots * slotMs, open);
    const before = await counts.totals(some, open - 2 * slots * slotMs, open - slots * slotMs);
    trends.push(...some.map((stream) => ({ now: last.get(stream) ?? 0, before: before.get(stream) ?? 0 })));
  }
  return trends;
}
