import { type Failpoint, noFailpoint } from "../failpoint.js";
import type { Generations } from "./cache/generations.js";
import type { SeriesStore, SeriesWindow, SettingSource, WriteOrder } from "./ports.js";
import { type AddedPoints, type SlotColumn, slotStart } from "./series.js";
import type { WriteOrders } from "./write-orders.js";

export interface WritePointsDependencies {
  readonly store: Pick<SeriesStore, "write" | "add">;
  readonly generations: Pick<Generations, "written">;
  readonly orders: Readonly<Record<SettingSource, Pick<WriteOrders, "begin">>>;
  readonly failpoint?: Failpoint;
}

/**
 * Writes of points. Once one resolves, all of its points survive a crash and every read returns them. Safe to repeat.
 * Rejects as the store does.
 */
export interface PointWrites {
  /** Stores slots. */
  write(source: SettingSource, columns: readonly SlotColumn[]): Promise<void>;
  /** Stores points that are added to their slots. */
  add(added: readonly AddedPoints[]): Promise<void>;
}

export function pointWrites({
  store: { write, add },
  generations,
  orders,
  failpoint = noFailpoint,
}: WritePointsDependencies): PointWrites {
  /** Resolves with the order of the write. */
  async function announced(
    windows: readonly SeriesWindow[],
    source: SettingSource,
    store: (order: WriteOrder) => Promise<void>,
    since = performance.now(),
  ): Promise<number> {
    const order = await orders[source].begin();
    try {
      await store({ ...order, since });
    } catch (error) {
      // A part may be stored. The caller repeats the write, so this announcement may fail.
      await generations.written(windows).catch(() => {});
      throw error;
    }
    failpoint("points-written");
    await generations.written(windows);
    return order.number;
  }

  /**
   * Repeats a write of clients once if a process has raised the order: the announcement receives it. A write that was
   * abandoned before this one began could have the order of the first attempt, or a higher one, but not the order that
   * was received since.
   */
  async function inOrder(windows: readonly SeriesWindow[], store: (order: WriteOrder) => Promise<void>): Promise<void> {
    if (windows.length === 0) return;
    const since = performance.now();
    const order = await announced(windows, "clients", store, since);
    if (order < (await orders.clients.begin()).number) await announced(windows, "clients", store, since);
  }

  return {
    async write(source, columns) {
      const windows = writtenWindows(columns);
      const store = (order: WriteOrder) => write(source, columns, order);
      if (source === "clients") await inOrder(windows, store);
      // Only the recorder with the lease writes, and it raises the order when it takes the lease.
      else if (windows.length > 0) await announced(windows, source, store);
    },
    add: (added) => inOrder(addedWindows(added), (order) => add(added, order)),
  };
}

export interface ExpirePointsDependencies {
  readonly store: Pick<SeriesStore, "expire">;
  readonly generations: Pick<Generations, "endAll">;
}

/**
 * Removes slots that start before an instant (Unix ms) from the store. Invalidates all cached entries: any of them may
 * contain such slots, and a clock that is set back would make responses include them. This happens once an hour.
 */
export function expirePoints({ store, generations }: ExpirePointsDependencies): SeriesStore["expire"] {
  return async (before) => {
    try {
      await store.expire(before);
    } finally {
      generations.endAll();
    }
  };
}

/** Returns the windows of the columns that have slots. */
function writtenWindows(columns: readonly SlotColumn[]): SeriesWindow[] {
  const windows: SeriesWindow[] = [];
  for (const { series, from, values } of columns)
    if (values.length > 0) windows.push({ series, from, to: from + values.length * series.dimension.slotMs });
  return windows;
}

/** Returns a window for each series. The points of a request are of few days. */
function addedWindows(added: readonly AddedPoints[]): SeriesWindow[] {
  return added.map(({ series, points }) => {
    let from = Number.POSITIVE_INFINITY;
    let to = 0;
    for (const { ms } of points) {
      if (ms < from) from = ms;
      if (ms >= to) to = ms + 1;
    }
    const { dimension } = series;
    return { series, from: slotStart(dimension, from), to: slotStart(dimension, to - 1) + dimension.slotMs };
  });
}
