import { eachPage } from "../async/pages.js";
import { type BucketGrid, evenGrid } from "../formats/buckets.js";
import { type ComparedWindows, comparedWindows, SHOWS_BEGIN_MS, sinceBegun } from "../formats/compared-windows.js";
import { compareBytes } from "../text.js";
import { stream as dimension } from "./dimensions.js";
import type { SeriesStore, SlotCounts } from "./ports.js";
import { type EachColumn, type SavedSlots, sumIn } from "./query/each-column.js";
import { MAX_BUCKETS, tooManyBuckets } from "./query/plan.js";
import { type RequestedSeries, readBuckets } from "./query/request.js";
import type { RequestedWindow } from "./query/time-window.js";
import { type Trend, trendWindow } from "./query/trend-window.js";
import { nextSlot, slotStart } from "./series.js";
import { type ArrivedStream, type NewestData, newestData } from "./stream-silence.js";

/** A stream that received messages or has points. Its name is its id. */
export interface ListedStream extends ArrivedStream {
  readonly name: string;
}

/** Values of a stream's series. */
export interface StreamActivity {
  /** The open slot (Unix ms): its saved value, or else the messages counted in it so far. */
  readonly slot: { readonly ts: number; readonly count: number };
  /** Sum of the last 24 slots that have ended. */
  readonly day: number;
}

export interface StreamListDependencies {
  readonly series: Pick<SeriesStore, "list">;
  readonly counts: Pick<SlotCounts, "streams" | "counted">;
  readonly eachColumn: EachColumn;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

const DAY_SLOTS = 24;

/** The series of every stream: its messages. */
const messages = { dimension, type: "size" } as const;

/** The streams with the sums of their series, as `/api/metric` returns them. Sums without a saved slot are 0. */
export function streamList({ series, counts, eachColumn, retention }: StreamListDependencies) {
  const { slotMs } = dimension;
  const sumsOf = (ids: readonly string[], from: number, to: number) =>
    eachColumn({ ...messages, ids }, from, to, (slots) => sumIn(slots, slotMs, from, to));

  async function page(after: string | undefined, limit: number): Promise<ListedStream[]> {
    const from = after === undefined ? {} : { after };
    const [counted, saved] = await Promise.all([
      counts.streams(after, limit),
      series.list(dimension, { prefix: "", ...from, limit }),
    ]);
    const arrivals = new Map<string, number | undefined>(saved.map(({ id }) => [id, undefined]));
    for (const { stream, lastArrival } of counted) arrivals.set(stream, lastArrival);
    const streams = Array.from(arrivals, ([id, lastArrival]) => ({ id, name: id, lastArrival }));
    return streams.sort((a, b) => compareBytes(a.id, b.id)).slice(0, limit);
  }

  /** Returns the `day` of each stream as of `now` (Unix ms). */
  function days(ids: readonly string[], now: number): Promise<readonly number[]> {
    const { to, firstKept } = trendWindow(messages, {}, now, retention());
    return sumsOf(ids, Math.max(firstKept, to - DAY_SLOTS * slotMs), to);
  }

  return {
    /** Returns streams in the order of their names, after the stream `after`. */
    page,
    async count(): Promise<number> {
      let count = 0;
      for await (const streams of eachPage<ListedStream>((last, limit) => page(last?.id, limit)))
        count += streams.length;
      return count;
    },

    /** Returns the stream with this id. Reads only the ids from its own without the last character on. */
    async find(id: string): Promise<ListedStream | undefined> {
      const before = Array.from(id).slice(0, -1).join("");
      for await (const streams of eachPage<ListedStream>((last, limit) => page(last?.id ?? before, limit))) {
        const stream = streams.find((stream) => compareBytes(stream.id, id) >= 0);
        if (stream !== undefined) return stream.id === id ? stream : undefined;
      }
      return undefined;
    },

    days,

    async activity(ids: readonly string[], now: number): Promise<StreamActivity[]> {
      const ts = slotStart(dimension, now);
      const [counted, saved, sumsOfDay] = await Promise.all([
        counts.counted(ids, ts),
        eachColumn({ ...messages, ids }, ts, ts + slotMs, savedSlot),
        days(ids, now),
      ]);
      return ids.map((id, i) => {
        const count = saved[i] ?? counted.get(id) ?? 0;
        return { slot: { ts, count }, day: sumsOfDay[i] as number };
      });
    },

    /** Returns when the newest data of each stream arrived, and whether it is silent as of `now` (Unix ms). */
    newest(streams: readonly ListedStream[], now: number): Promise<readonly NewestData[]> {
      return newestData(streams, now, { eachColumn, firstKept: trendWindow(messages, {}, now, retention()).firstKept });
    },

    /**
     * Returns the sums over a window and over the one of the same length before it. With an interval, the window begins
     * with a whole interval, and its complete intervals are compared with as many before it. Throws as `timeWindow` and
     * `seriesPlan` do.
     */
    trends(ids: readonly string[], asked: RequestedTrend, now: number): Promise<Trend[]> {
      const buckets = asked.interval === undefined ? undefined : readBuckets(asked);
      const { from, to, firstKept, writableTo } = trendWindow(messages, { ...asked, ...buckets }, now, retention());
      const grid = buckets?.grid ?? evenGrid(dimension.slotMs);
      const compared = comparedSlots(from ?? to, to, grid);
      const end = Math.min(to, writableTo);
      const read = Math.max(firstKept, compared.before - SHOWS_BEGIN_MS);
      return eachColumn({ ...messages, ids }, read, end, (slots) =>
        countedTrend(slots, { ...compared, to: end, grid }),
      );
    },
  };
}

/** Returns the value of a column of one slot; undefined if nothing is saved. */
function savedSlot({ values: [value = Number.NaN] }: SavedSlots): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

/** A window, and the intervals that are compared. */
type RequestedTrend = RequestedWindow & Pick<RequestedSeries, "interval" | "timezone">;

/** Returns the slots of the complete intervals that are compared. */
function comparedSlots(from: number, to: number, grid: BucketGrid): ComparedWindows {
  const { slotMs } = dimension;
  if (grid.longest === slotMs) return { before: 2 * from - to, start: from, end: to };
  if ((to - from) / grid.longest > MAX_BUCKETS) throw tooManyBuckets();
  const { before, start, end } = comparedWindows(grid, grid.startOf(from), to);
  return { before: nextSlot(dimension, before), start: nextSlot(dimension, start), end: nextSlot(dimension, end) };
}

interface CountedWindow extends ComparedWindows {
  /** End of the window, Unix ms. */
  readonly to: number;
  readonly grid: BucketGrid;
}

/** Returns the messages of both windows, and the messages that are compared: see `sinceBegun`. */
function countedTrend(slots: SavedSlots, { to, grid, ...windows }: CountedWindow): Trend {
  const { slotMs } = dimension;
  const sum = (from: number, until: number) => sumIn(slots, slotMs, from, Math.min(until, to));
  const { before, start, end } = windows;
  const now = sum(start, to);
  const first = slots.values.findIndex((value) => !Number.isNaN(value));
  const begun = slots.from + first * slotMs;
  if (first === -1 || begun >= start) return { now, before: 0, compared: null };
  const both = sinceBegun(grid, windows, begun, slotMs);
  if (both === undefined) return { now, before: sum(before, start), compared: null };
  const since = nextSlot(dimension, both.start);
  const compared = { now, before: sum(nextSlot(dimension, both.before), start), compared: sum(since, end) };
  return since === start ? compared : { ...compared, since };
}

export type StreamList = ReturnType<typeof streamList>;
