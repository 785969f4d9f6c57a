import type { Dimension } from "../dimensions.js";
import type { SeriesStore, SeriesWindow } from "../ports.js";
import { isSum } from "../series.js";

/** A store in which the sum over all series of a dimension can be read like a series. */
export interface SummingStore extends Pick<SeriesStore, "chunkSlots" | "read" | "mayHold"> {
  /** Returns the number of series in a sum at its last read; reads the store once. */
  summed(dimension: Dimension): Promise<number>;
}

export function summingStore(
  store: Pick<SeriesStore, "chunkSlots" | "read" | "mayHold" | "sum" | "count">,
): SummingStore {
  const counts = new Map<Dimension, number>();

  async function count(dimension: Dimension): Promise<number> {
    const series = Math.max(1, await store.count(dimension, { prefix: "" }));
    counts.set(dimension, series);
    return series;
  }

  return {
    chunkSlots: store.chunkSlots,
    mayHold: (series) => isSum(series) || store.mayHold(series),
    summed: async (dimension) => counts.get(dimension) ?? count(dimension),

    async read(windows: readonly SeriesWindow[]) {
      const stored = windows.filter(({ series }) => !isSum(series));
      if (stored.length === windows.length) return store.read(windows);
      const columns = (stored.length === 0 ? [] : await store.read(stored)).values();
      const read: Float64Array[] = [];
      for (const { series, from, to } of windows) {
        if (isSum(series)) {
          read.push(await store.sum(series.dimension, series.type, from, to));
          await count(series.dimension);
        } else read.push(columns.next().value as Float64Array);
      }
      return read;
    },
  };
}
