import type { SeriesWindow } from "../ports.js";
import { type Series, seriesHash, seriesKey, sumOver } from "../series.js";
import type { SharedInvalidation } from "./shared-invalidation.js";

/** Slots of one series that are read from the store and cached together. */
export interface Chunk {
  /** Unique among chunks. */
  readonly key: string;
  readonly series: Series;
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
    chunks.push({ key: `${key}\0${index}`, series, seriesHash: hash, index });
  }
  return chunks;
}

/** Generations of some chunks before the store was read. The read is current while they are unchanged. */
export interface VersionVector {
  readonly at: readonly number[];
  readonly generations: readonly number[];
  /** When the first generation was read, ms of `performance.now`. */
  readonly takenAt: number;
}

/**
 * Distance in slots of the nearest chunks of one series that share a counter. A write to one chunk invalidates every
 * chunk that shares its counter.
 */
const SPAN_SLOTS = 16 * 168;
/** Number of counters of a single process, and of processes that share them. */
const OWN_GENERATIONS = 65_536;
const SHARED_GENERATIONS = 4_096;

/**
 * Maximum age of a cached entry if other processes may write the series, or the store may complete a write after it was
 * rejected, ms. It bounds how long a write without an announcement stays hidden.
 */
const MAX_AGE_MS = 10_000;

/** A generation that no chunk has: the chunk was written between two reads. */
const NEVER = -1;

/** Combines vectors: the result is current while each of them is. */
export function joinVersions(vectors: readonly VersionVector[]): VersionVector {
  if (vectors.length === 1) return vectors[0] as VersionVector;
  const joined = new Map<number, number>();
  let takenAt = Number.POSITIVE_INFINITY;
  for (const vector of vectors) {
    takenAt = Math.min(takenAt, vector.takenAt);
    for (const [i, index] of vector.at.entries()) {
      const generation = vector.generations[i] as number;
      joined.set(index, (joined.get(index) ?? generation) === generation ? generation : NEVER);
    }
  }
  return { at: [...joined.keys()], generations: [...joined.values()], takenAt };
}

export interface GenerationOptions {
  /** Whether this process owns the store exclusively. */
  readonly exclusive: boolean;
  /** The invalidation shared with the processes that write the same series; undefined for a single process. */
  readonly shared?: SharedInvalidation | undefined;
}

/**
 * The generation of each chunk: a counter that a write increments after it is stored and before it is answered. One
 * rule applies to every cached entry: it is valid while the generations of its chunks have not changed since its read
 * and, unless this process owns the store exclusively, for at most 10 s. Chunks share counters, by their position in
 * time (the phase) and their series: a write to one chunk also invalidates the others that share its counter.
 */
export class Generations {
  readonly #chunkSlots: number;
  readonly #exclusive: boolean;
  readonly #shared: SharedInvalidation | undefined;
  /** Consecutive chunks of one series have different phases. */
  readonly #phases: number;
  /** Number of counters of each phase; series are spread over them. */
  readonly #perPhase: number;
  readonly #generations: Float64Array;

  constructor(chunkSlots: number, { exclusive, shared }: GenerationOptions) {
    this.#chunkSlots = chunkSlots;
    this.#exclusive = exclusive;
    this.#shared = shared;
    const most = shared === undefined ? OWN_GENERATIONS : SHARED_GENERATIONS;
    this.#phases = Math.ceil(SPAN_SLOTS / chunkSlots);
    this.#perPhase = Math.floor(most / this.#phases);
    this.#generations = new Float64Array(most);
    shared?.listen((at) => this.#raise(at));
  }

  /** Returns the version vector of a chunk. Call it before the chunk is read. */
  versions(chunk: Chunk): VersionVector {
    const at = this.#indexOf(chunk.seriesHash, chunk.index);
    return { at: [at], generations: [this.#generations[at] as number], takenAt: performance.now() };
  }

  /** Returns the versions of all chunks that overlap a window. Call it before they are read. */
  versionsIn(window: SeriesWindow): VersionVector {
    const at = new Set<number>();
    this.#addIndexes(at, window.series, window);
    const generations = Array.from(at, (i) => this.#generations[i] as number);
    return { at: [...at], generations, takenAt: performance.now() };
  }

  /** Returns whether a read that began with these versions is still valid. */
  isCurrent({ at, generations, takenAt }: VersionVector): boolean {
    if (!this.#exclusive && performance.now() - takenAt > MAX_AGE_MS) return false;
    if (this.#shared?.isReliable() === false) return false;
    for (let i = 0; i < at.length; i += 1) if (this.#generations[at[i] as number] !== generations[i]) return false;
    return true;
  }

  /**
   * Invalidates windows that were, or may have been, written. Once it resolves no earlier entry is valid, including
   * sums over these series: in this process from then on, in others within a second. Rejects if the write cannot be
   * announced to the other processes.
   */
  async written(windows: readonly SeriesWindow[]): Promise<void> {
    const at = new Set<number>();
    for (const window of windows) {
      const sum = sumOver(window.series);
      this.#addIndexes(at, window.series, window);
      if (sum !== undefined) this.#addIndexes(at, sum, window);
    }
    try {
      await this.#shared?.announce([...at]);
    } finally {
      this.#raise(at);
    }
  }

  /** Invalidates every earlier entry of this process. */
  endAll(): void {
    this.#raise(this.#generations.keys());
  }

  #raise(at: Iterable<number>): void {
    for (const i of at) this.#generations[i] = (this.#generations[i] as number) + 1;
  }

  /** Adds the counters of the chunks of a series that overlap a window. */
  #addIndexes(at: Set<number>, series: Series, { from, to }: Omit<SeriesWindow, "series">): void {
    const hash = seriesHash(series);
    const length = this.#chunkSlots * series.dimension.slotMs;
    for (let index = Math.floor(from / length); index * length < to; index += 1) at.add(this.#indexOf(hash, index));
  }

  #indexOf(hash: number, chunk: number): number {
    const phase = ((chunk % this.#phases) + this.#phases) % this.#phases;
    return phase * this.#perPhase + (hash % this.#perPhase);
  }
}
