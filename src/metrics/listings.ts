import { type Dimension, dimensions, stream as streamDimension } from "./dimensions.js";
import type { SeriesStore, SlotCounts } from "./ports.js";
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
  /** What ids begin with. */
  readonly prefix: string;
  /** The last one of the page before. */
  readonly after?: Pick<ListedSeries, "dimension" | "id"> | undefined;
  readonly limit: number;
}

const inOrder = [...dimensions].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Series that have a point, by the name of the dimension, then by id. */
export async function listSeries(
  store: Pick<SeriesStore, "list">,
  { dimension, prefix, after, limit }: SeriesPage,
): Promise<ListedSeries[]> {
  const listed: ListedSeries[] = [];
  for (const one of dimension === undefined ? inOrder : [dimension]) {
    if (after !== undefined && one.name < after.dimension.name) continue;
    const from = after?.dimension === one ? { after: after.id } : {};
    const found = await store.list(one, { prefix, ...from, limit: limit - listed.length });
    listed.push(...found.map((series) => ({ dimension: one, ...series })));
    if (listed.length >= limit) break;
  }
  return listed;
}

/** What a stream takes. Times are Unix ms. */
export interface StreamActivity {
  readonly stream: string;
  readonly lastArrival: number;
  /** The slot that is open now, and the messages counted in it so far. */
  readonly slot: { readonly ts: number; readonly count: number };
  /** Messages of the last 24 slots that are over. */
  readonly day: number;
}

const DAY_SLOTS = 24;

/** Streams that took messages, by name, after the one named `after`; at most `limit`. */
export async function listStreams(
  counts: Pick<SlotCounts, "streams" | "counted">,
  now: number,
  after: string | undefined,
  limit: number,
): Promise<StreamActivity[]> {
  const { slotMs } = streamDimension;
  const open = slotStart(streamDimension, now);
  const streams = await counts.streams(after, limit);
  const names = streams.map(({ stream }) => stream);
  const counted = await counts.counted(names, open - DAY_SLOTS * slotMs, open + slotMs);
  const totals = new Map(names.map((name) => [name, { open: 0, day: 0 }]));
  for (const { stream, slot, count } of counted) {
    const total = totals.get(stream);
    if (total !== undefined) total[slot === open ? "open" : "day"] += count;
  }
  return streams.map(({ stream, lastArrival }) => {
    const total = totals.get(stream) ?? { open: 0, day: 0 };
    return { stream, lastArrival, slot: { ts: open, count: total.open }, day: total.day };
  });
}
