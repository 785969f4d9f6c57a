import { eachPage, everyItem } from "../async/pages.js";
import { compareBytes } from "../text.js";
import { stream as dimension } from "./dimensions.js";
import type { SeriesStore, SlotCounts } from "./ports.js";
import type { SlotSums } from "./query/slot-sums.js";
import type { RequestedWindow } from "./query/time-window.js";
import { type Trend, trendWindow } from "./query/trend-window.js";
import { slotStart } from "./series.js";

/** A stream that received messages or has points. Its name is its id. */
export interface ListedStream {
  readonly id: string;
  readonly name: string;
  /** Arrival of its newest message, Unix ms; undefined if it has only points. */
  readonly lastArrival: number | undefined;
}

/** Values of a stream's series. */
export interface StreamActivity {
  /** The open slot (Unix ms): the messages counted in it so far, or else its saved value. */
  readonly slot: { readonly ts: number; readonly count: number };
  /** Sum of the last 24 slots that have ended. */
  readonly day: number;
}

export interface StreamListDependencies {
  readonly series: Pick<SeriesStore, "list">;
  readonly counts: Pick<SlotCounts, "streams" | "counted">;
  readonly sums: SlotSums;
  /** Retention of points, ms; undefined: unlimited. */
  retention(): number | undefined;
}

const DAY_SLOTS = 24;

/** The series of every stream: its messages. */
const messages = { dimension, type: "size" } as const;

/** The streams with the sums of their series, as `/api/metric` returns them. Sums without a saved slot are 0. */
export function streamList({ series, counts, sums, retention }: StreamListDependencies) {
  const { slotMs } = dimension;
  const sumsOf = async (ids: readonly string[], from: number, to: number) =>
    (await sums({ ...messages, ids }, from, to)).map((sum) => (Number.isNaN(sum) ? 0 : sum));

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
    count: async () => (await everyItem(page, ({ id }) => id)).length,

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
        sums({ ...messages, ids }, ts, ts + slotMs),
        days(ids, now),
      ]);
      return ids.map((id, i) => {
        const value = saved[i] as number;
        const count = counted.get(id) ?? (Number.isNaN(value) ? 0 : value);
        return { slot: { ts, count }, day: sumsOfDay[i] as number };
      });
    },

    /** Returns the sums over a window and over the one of the same length before it. Throws as `timeWindow` does. */
    async trends(ids: readonly string[], asked: RequestedWindow, now: number): Promise<Trend[]> {
      const { from, to, firstKept, writableTo } = trendWindow(messages, asked, now, retention());
      const start = from ?? to;
      const last = await sumsOf(ids, Math.max(firstKept, start), Math.min(to, writableTo));
      const before = await sumsOf(ids, Math.max(firstKept, 2 * start - to), Math.min(start, writableTo));
      return ids.map((_, i) => ({ now: last[i], before: before[i] }));
    },
  };
}

export type StreamList = ReturnType<typeof streamList>;
