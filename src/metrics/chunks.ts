import { ServiceError } from "../errors.js";
import { type Series, type SlotColumn, seriesKey } from "./series.js";
import type { SeriesStore, SeriesWindow } from "./series-store.js";

/** A store that reads chunks. */
export type ChunkStore = Pick<SeriesStore, "chunkSlots" | "read">;

/** One chunk of one series. */
export interface Chunk {
  /** A name that no other chunk has. */
  readonly key: string;
  readonly series: Series;
  readonly seriesKey: string;
  /** Chunks are counted from 1970. */
  readonly index: number;
}

/** The chunks of `chunkSlots` slots that a window touches, ascending. */
export function chunksOf({ series, from, to }: SeriesWindow, chunkSlots: number, key = seriesKey(series)): Chunk[] {
  const length = chunkSlots * series.dimension.slotMs;
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
export async function readChunks(store: ChunkStore, chunks: readonly Chunk[]): Promise<Map<string, Float64Array>> {
  const { chunkSlots } = store;
  const runs = runsOf(chunks);
  const columns = await store.read(runs.map((run) => windowOf(run, chunkSlots)));
  if (columns.length !== runs.length) throw incomplete();
  const slots = new Map<string, Float64Array>();
  for (const [i, run] of runs.entries()) {
    const column = columns[i];
    if (column?.length !== run.length * chunkSlots) throw incomplete();
    for (const [n, { key }] of run.entries()) slots.set(key, column.subarray(n * chunkSlots, (n + 1) * chunkSlots));
  }
  return slots;
}

/** The slots of a window, copied out of those of its chunks. Chunks that are `empty` at either end of it are left out. */
export function joinChunks(
  { series, from, to }: SeriesWindow,
  chunks: readonly Chunk[],
  slotsOf: (chunk: Chunk) => Float64Array,
  empty: Float64Array,
): Pick<SlotColumn, "from" | "values"> {
  const { slotMs } = series.dimension;
  const first = chunks.find((chunk) => slotsOf(chunk) !== empty)?.index;
  const last = chunks.findLast((chunk) => slotsOf(chunk) !== empty)?.index;
  if (first === undefined || last === undefined) return { from, values: new Float64Array(0) };
  const start = Math.max(from / slotMs, first * empty.length);
  const values = new Float64Array(Math.min(to / slotMs, (last + 1) * empty.length) - start);
  for (const chunk of chunks) {
    if (chunk.index < first || chunk.index > last) continue;
    const slots = slotsOf(chunk);
    const at = chunk.index * slots.length - start;
    const skip = Math.max(0, -at);
    values.set(slots.subarray(skip, Math.min(slots.length, values.length - at)), at + skip);
  }
  return { from: start * slotMs, values };
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

function windowOf(run: readonly Chunk[], chunkSlots: number): SeriesWindow {
  const { series, index } = run[0] as Chunk;
  const length = chunkSlots * series.dimension.slotMs;
  return { series, from: index * length, to: (index + run.length) * length };
}

function incomplete(): ServiceError {
  return new ServiceError("unavailable", "A store did not answer in full; try again");
}
