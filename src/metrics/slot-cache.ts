import { LRUCache } from "lru-cache";
import { type Chunk, type ChunkStore, chunksOf, joinChunks, readChunks } from "./chunks.js";
import type { SlotColumn } from "./series.js";
import type { SeriesWindow } from "./series-store.js";
import type { Look, SeriesHolder, SeriesWatch } from "./series-watch.js";
import type { Turns } from "./turns.js";

/** The slots of a window. */
export interface CachedSlots {
  /** Whether a store was read for them, by this reader or by one who was reading when it came. */
  readonly read: boolean;
  /** A column of its own, in which all saved slots of the window lie; NaN where nothing is saved. */
  column(): Pick<SlotColumn, "from" | "values">;
}

/** A read of the store that is under way. */
type Load = Promise<Map<string, Float64Array>>;

/** Chunks kept before others get their turn. */
const KEPT_AT_ONCE = 5_000;

/** What an entry takes besides its slots, roughly, bytes. */
const ENTRY_BYTES = 300;

/**
 * Chunks of slots that were read lately, at most `bytes` of them. Exact under writes: see `SeriesWatch`. Readers of one
 * chunk at one time share one read of the store; a read that fails is forgotten.
 */
export class SlotCache implements SeriesHolder {
  readonly #store: ChunkStore;
  readonly #watch: SeriesWatch;
  readonly #turns: Turns;
  readonly #chunks: LRUCache<string, Float64Array>;
  readonly #loads = new Map<string, Load>();
  /** Stands for every chunk without a saved slot. */
  readonly #empty: Float64Array;

  constructor(store: ChunkStore, watch: SeriesWatch, bytes: number, turns: Turns) {
    this.#store = store;
    this.#watch = watch;
    this.#turns = turns;
    this.#empty = new Float64Array(store.chunkSlots).fill(Number.NaN);
    const sizeCalculation = (slots: Float64Array) => (slots === this.#empty ? 0 : slots.byteLength) + ENTRY_BYTES;
    this.#chunks = new LRUCache({ maxSize: Math.max(1, bytes), sizeCalculation });
    watch.addHolder(this);
  }

  /** The slots of each window, in the order asked, by at most one read of the store. Rejects rather than hand out a part. */
  async read(windows: readonly SeriesWindow[]): Promise<CachedSlots[]> {
    const trusted = this.#watch.trusted();
    const wanted = windows.map((window) => chunksOf(window, this.#store.chunkSlots));
    const found = new Map<string, Float64Array>();
    const loads = new Map<string, Load>();
    const missing = new Map<string, Chunk>();
    for (const chunk of wanted.flat()) {
      const { key } = chunk;
      if (found.has(key) || loads.has(key) || missing.has(key)) continue;
      const slots = trusted ? this.#chunks.get(key) : undefined;
      const load = trusted ? this.#loads.get(key) : undefined;
      if (slots !== undefined) found.set(key, slots);
      else if (load !== undefined) loads.set(key, load);
      else missing.set(key, chunk);
    }
    if (missing.size > 0) {
      const load = this.#load([...missing.values()], trusted);
      for (const key of missing.keys()) loads.set(key, load);
    }
    const loaded = new Map(
      await Promise.all([...new Set(loads.values())].map(async (load) => [load, await load] as const)),
    );
    const slotsOf = ({ key }: Chunk) =>
      (found.get(key) ?? loaded.get(loads.get(key) as Load)?.get(key)) as Float64Array;
    return windows.map((window, i) => {
      const chunks = wanted[i] as Chunk[];
      return {
        read: chunks.some(({ key }) => loads.has(key)),
        column: () => joinChunks(window, chunks, slotsOf, this.#empty),
      };
    });
  }

  drop(key: string, window: SeriesWindow): void {
    for (const chunk of chunksOf(window, this.#store.chunkSlots, key)) {
      this.#chunks.delete(chunk.key);
      this.#loads.delete(chunk.key);
    }
  }

  dropAll(): void {
    this.#chunks.clear();
    this.#loads.clear();
  }

  /** Starts to read these chunks; others may join until one of them is written. Keeps what is still true at the end. */
  #load(chunks: readonly Chunk[], shared: boolean): Load {
    const looks = new Map<string, Look>();
    for (const { seriesKey } of chunks) if (!looks.has(seriesKey)) looks.set(seriesKey, this.#watch.open(seriesKey));
    const load = this.#finish(chunks, looks, () => load);
    if (shared) for (const { key } of chunks) this.#loads.set(key, load);
    return load;
  }

  async #finish(chunks: readonly Chunk[], looks: ReadonlyMap<string, Look>, self: () => Load): Load {
    try {
      const slots = await readChunks(this.#store, chunks);
      for (const [i, { key, seriesKey }] of chunks.entries()) {
        const own = this.#compact(slots.get(key) as Float64Array);
        slots.set(key, own);
        if (this.#watch.isFresh(looks.get(seriesKey) as Look)) this.#chunks.set(key, own);
        if ((i + 1) % KEPT_AT_ONCE === 0) await this.#turns.next();
      }
      return slots;
    } finally {
      for (const look of looks.values()) this.#watch.close(look);
      for (const { key } of chunks) if (this.#loads.get(key) === self()) this.#loads.delete(key);
    }
  }

  /** A copy that holds on to nothing else. */
  #compact(slots: Float64Array): Float64Array {
    return slots.every(Number.isNaN) ? this.#empty : slots.slice();
  }
}
