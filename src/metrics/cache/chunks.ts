import type { SeriesWindow } from "../ports.js";
import { type Series, seriesHash, seriesKey } from "../series.js";

/** Slots of one series that are read from the store and cached together. */
export interface Chunk {
  /** Unique among chunks. */
  readonly key: string;
  readonly series: Series;
  readonly seriesKey: string;
  /** Spreads series over the counters of a phase. */
  readonly seriesHash: number;
  /** Chunks are counted from 1970. */
  readonly index: number;
}

/** Returns the chunks of `chunkSlots` slots that overlap a window, ascending. */
export function chunksIn({ series, from, to }: SeriesWindow, chunkSlots: number): Chunk[] {
  const chunks: Chunk[] = [];
  if (from >= to) return chunks;
  const key = seriesKey(series);
  const hash = seriesHash(series, key);
  const length = chunkSlots * series.dimension.slotMs;
  for (let index = Math.floor(from / length); index * length < to; index += 1) {
    chunks.push({ key: `${key}\0${index}`, series, seriesKey: key, seriesHash: hash, index });
  }
  return chunks;
}
