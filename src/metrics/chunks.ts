import { ServiceError } from "../errors.js";
import { CHUNK_SLOTS, type Series, seriesKey } from "./series.js";
import type { SeriesStore, SeriesWindow } from "./series-store.js";

/** One chunk of one series. */
export interface Chunk {
  /** A name that no other chunk has. */
  readonly key: string;
  readonly series: Series;
  readonly seriesKey: string;
  /** Chunks are counted from 1970. */
  readonly index: number;
}

/** The chunks that a window touches, ascending. */
export function chunksOf({ series, from, to }: SeriesWindow, key = seriesKey(series)): Chunk[] {
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  const chunks: Chunk[] = [];
  if (from >= to) return chunks;
  for (let index = Math.floor(from / length); index * length < to; index += 1) {
    chunks.push({ key: `${key}\0${index}`, series, seriesKey: key, index });
  }
  return chunks;
}

/**
 * The slots of each chunk by its key, read from the store at once; neighbours are asked for as one window. Rejects when the
 * store hands out anything but whole windows.
 */
export async function readChunks(
  store: Pick<SeriesStore, "read">,
  chunks: readonly Chunk[],
): Promise<Map<string, Float64Array>> {
  const runs = runsOf(chunks);
  const columns = await store.read(runs.map(windowOf));
  if (columns.length !== runs.length) throw incomplete();
  const slots = new Map<string, Float64Array>();
  for (const [i, run] of runs.entries()) {
    const column = columns[i];
    if (column?.length !== run.length * CHUNK_SLOTS) throw incomplete();
    for (const [n, { key }] of run.entries()) slots.set(key, column.subarray(n * CHUNK_SLOTS, (n + 1) * CHUNK_SLOTS));
  }
  return slots;
}

/** The slots of a window, copied out of those of its chunks. */
export function joinChunks(
  { series, from, to }: SeriesWindow,
  chunks: readonly Chunk[],
  slotsOf: (chunk: Chunk) => Float64Array,
): Float64Array {
  const first = from / series.dimension.slotMs;
  const column = new Float64Array((to - from) / series.dimension.slotMs);
  for (const chunk of chunks) {
    const start = chunk.index * CHUNK_SLOTS - first;
    const skip = Math.max(0, -start);
    column.set(slotsOf(chunk).subarray(skip, Math.min(CHUNK_SLOTS, column.length - start)), start + skip);
  }
  return column;
}

/** Chunks of one series that follow each other, together. */
function runsOf(chunks: readonly Chunk[]): Chunk[][] {
  const runs: Chunk[][] = [];
  let last: Chunk | undefined;
  for (const chunk of chunks) {
    if (last?.seriesKey === chunk.seriesKey && last.index + 1 === chunk.index) runs.at(-1)?.push(chunk);
    else runs.push([chunk]);
    last = chunk;
  }
  return runs;
}

function windowOf(run: readonly Chunk[]): SeriesWindow {
  const { series, index } = run[0] as Chunk;
  const length = CHUNK_SLOTS * series.dimension.slotMs;
  return { series, from: index * length, to: (index + run.length) * length };
}

function incomplete(): ServiceError {
  return new ServiceError("unavailable", "A store did not answer in full; try again");
}
