import { withTimeLimit } from "../../async/time-limit.js";
import { yieldWhenDue } from "../../async/yielding.js";
import type { CacheMemory } from "../../cache-memory.js";
import { ServiceError } from "../../errors.js";
import type { SeriesStore, SeriesWindow } from "../ports.js";
import type { SlotColumn } from "../series.js";
import { type Chunk, chunksIn, type Generations, joinVersions, type VersionVector } from "./generations.js";
import { type Versioned, VersionedCache } from "./versioned-cache.js";

/** The slots of a window, from memory or from the store. */
export interface CachedSlots {
  /**
   * Whether the store was read for them, by this call or by one in progress that it joined. Also to find that a series
   * does not exist is a read of the store.
   */
  readonly read: boolean;
  /** The versions of all its chunks before they were read. */
  readonly versions: VersionVector;
  /**
   * Copies the slots to a column; NaN where nothing is saved. Chunks without a saved slot at either end are left out.
   */
  column(): Pick<SlotColumn, "from" | "values">;
}

/** A read of the store in progress. */
type Load = Promise<Map<string, Float64Array>>;

/** The methods of a store that are used. */
type SlotStore = Pick<SeriesStore, "chunkSlots" | "read" | "mayHold">;

/** Chunks that are cached before other requests run. */
const CACHED_AT_ONCE = 5_000;

/** Memory of the buffer that holds the slots of a chunk, bytes. */
const BUFFER_BYTES = 200;

export interface SlotCacheDependencies {
  readonly store: SlotStore;
  readonly generations: Generations;
  /** Memory of the cached slots. */
  readonly memory: CacheMemory;
  /** Time limit of a read of the store, which several requests may share, ms. */
  readonly deadlineMs: number;
}

/**
 * Caches chunks of slots and invalidates them on writes: see `Generations`. Concurrent readers of one chunk share one
 * read of the store; a failure is not cached.
 */
export class SlotCache {
  readonly #store: SlotStore;
  readonly #generations: Generations;
  readonly #deadlineMs: number;
  readonly #chunks: VersionedCache<Float64Array>;
  readonly #loads = new Map<string, Versioned<Load>>();
  /** The shared chunk without a saved slot. */
  readonly #empty: Float64Array;

  constructor({ store, generations, memory, deadlineMs }: SlotCacheDependencies) {
    this.#store = store;
    this.#generations = generations;
    this.#deadlineMs = deadlineMs;
    this.#empty = new Float64Array(store.chunkSlots).fill(Number.NaN);
    this.#chunks = new VersionedCache(generations, memory, (slots) =>
      slots === this.#empty ? 0 : slots.byteLength + BUFFER_BYTES,
    );
  }

  /**
   * Reads the slots of each window, in order, by at most one read of the store. A series that does not exist is not
   * read. Rejects rather than return a partial result.
   */
  async read(windows: readonly SeriesWindow[]): Promise<CachedSlots[]> {
    const wanted = windows.map((window) => ({
      window,
      chunks: chunksIn(window, this.#store.chunkSlots),
      exists: this.#store.mayHold(window.series),
    }));
    const { found, loads } = this.#lookUp(wanted);
    const loaded = await settled(loads);
    return wanted.map(({ window, chunks, exists }) => {
      const isRead = !exists || chunks.some(({ key }) => loaded.has(key));
      const slots = chunks.map(({ key }) => (found.get(key) ?? loaded.get(key)) as Versioned<Float64Array>);
      return {
        read: isRead,
        versions: joinVersions(slots.map((chunk) => chunk.versions)),
        column: () => this.#columnOf(window, chunks[0]?.index ?? 0, slots),
      };
    });
  }

  /** Finds each chunk in memory, or else in a read in progress; starts one read for the others. */
  #lookUp(wanted: readonly { readonly chunks: readonly Chunk[]; readonly exists: boolean }[]) {
    const found = new Map<string, Versioned<Float64Array>>();
    const loads = new Map<string, Versioned<Load>>();
    const missing = new Map<string, Chunk>();
    for (const { chunks, exists } of wanted) {
      for (const chunk of chunks) {
        const { key } = chunk;
        if (found.has(key) || loads.has(key) || missing.has(key)) continue;
        const slots = exists
          ? this.#chunks.get(key)
          : { value: this.#empty, versions: this.#generations.versions(chunk) };
        const load = this.#loads.get(key);
        if (slots !== undefined) found.set(key, slots);
        else if (load !== undefined && this.#generations.isCurrent(load.versions)) loads.set(key, load);
        else missing.set(key, chunk);
      }
    }
    if (missing.size > 0) for (const [key, load] of this.#load([...missing.values()])) loads.set(key, load);
    return { found, loads };
  }

  /**
   * Starts to read these chunks; other calls may join until one of them is written. Then caches the chunks that are
   * still current.
   */
  #load(chunks: readonly Chunk[]): Map<string, Versioned<Load>> {
    const versions = chunks.map((chunk) => this.#generations.versions(chunk));
    const value = this.#readAndCache(chunks, versions);
    const loads = new Map(chunks.map(({ key }, i) => [key, { value, versions: versions[i] as VersionVector }]));
    for (const [key, load] of loads) this.#loads.set(key, load);
    const end = () => {
      for (const [key, load] of loads) if (this.#loads.get(key) === load) this.#loads.delete(key);
    };
    value.then(end, end);
    return loads;
  }

  async #readAndCache(chunks: readonly Chunk[], versions: readonly VersionVector[]): Load {
    const slots = await withDeadline(this.#deadlineMs, () => readChunks(this.#store, chunks));
    for (const [i, { key }] of chunks.entries()) {
      const value = this.#compact(slots.get(key) as Float64Array);
      slots.set(key, value);
      this.#chunks.set(key, { value, versions: versions[i] as VersionVector });
      if ((i + 1) % CACHED_AT_ONCE === 0) await yieldWhenDue();
    }
    return slots;
  }

  /** Returns the slots of a window in consecutive chunks, from the chunk `index` on, as `CachedSlots.column` does. */
  #columnOf({ series, from, to }: SeriesWindow, index: number, chunks: readonly Versioned<Float64Array>[]) {
    const { slotMs } = series.dimension;
    const { length } = this.#empty;
    const first = chunks.findIndex(({ value }) => value !== this.#empty);
    const last = chunks.findLastIndex(({ value }) => value !== this.#empty);
    if (first < 0) return { from, values: new Float64Array(0) };
    const start = Math.max(from / slotMs, (index + first) * length);
    const values = new Float64Array(Math.min(to / slotMs, (index + last + 1) * length) - start);
    for (let i = first; i <= last; i += 1) {
      const { value: slots } = chunks[i] as Versioned<Float64Array>;
      const at = (index + i) * length - start;
      const skip = Math.max(0, -at);
      values.set(slots.subarray(skip, Math.min(length, values.length - at)), at + skip);
    }
    return { from: start * slotMs, values };
  }

  /** Copies a chunk that would retain a longer column that it was read in. */
  #compact(slots: Float64Array): Float64Array {
    if (isEmpty(slots)) return this.#empty;
    return slots.byteLength === slots.buffer.byteLength ? slots : slots.slice();
  }
}

/**
 * Awaits all loads at once: if one rejected while another was awaited, the unhandled rejection would end the process.
 */
async function settled(loads: ReadonlyMap<string, Versioned<Load>>): Promise<Map<string, Versioned<Float64Array>>> {
  const slots = new Map<string, Versioned<Float64Array>>();
  const inProgress = new Set(Array.from(loads.values(), ({ value }) => value));
  const loaded = new Map(await Promise.all(Array.from(inProgress, async (load) => [load, await load] as const)));
  for (const [key, { value, versions }] of loads) {
    slots.set(key, { value: loaded.get(value)?.get(key) as Float64Array, versions });
  }
  return slots;
}

/**
 * Settles as `work` does within `ms`. Rejects with a `ServiceError`: its own, or `unavailable` for any other error and
 * after `ms`.
 */
export async function withDeadline<T>(ms: number, work: () => Promise<T>): Promise<T> {
  try {
    return await withTimeLimit(ms, [], work);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("unavailable", "A store is unreachable; try again", { cause: error });
  }
}

function isEmpty(slots: Float64Array): boolean {
  for (const slot of slots) if (!Number.isNaN(slot)) return false;
  return true;
}

/**
 * Reads the slots of each chunk, by key, in one read of the store; neighbours share a window. Rejects if the store
 * returns an incomplete window.
 */
async function readChunks(store: SlotStore, chunks: readonly Chunk[]): Promise<Map<string, Float64Array>> {
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

/** Groups consecutive chunks of one series. */
function runsOf(chunks: readonly Chunk[]): Chunk[][] {
  const runs: Chunk[][] = [];
  let last: Chunk | undefined;
  for (const chunk of chunks) {
    if (last?.series === chunk.series && last.index + 1 === chunk.index) runs.at(-1)?.push(chunk);
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

/** The error of a read that returned fewer slots than requested. */
export function incomplete(): ServiceError {
  return new ServiceError("unavailable", "The store returned an incomplete response; try again");
}
