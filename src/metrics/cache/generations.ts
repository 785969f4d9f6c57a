import { type CacheMemory, SharedCache } from "../../cache-memory.js";
import type { SeriesWindow } from "../ports.js";
import { type Series, seriesHash, seriesKey, sumOver } from "../series.js";
import type { SharedInvalidation } from "./shared-invalidation.js";

/** Slots of one series that are read from the store and cached together. */
export interface Chunk {
  /** Unique among chunks. */
  readonly key: string;
  readonly series: Series;
  readonly seriesKey: string;
  /** Spreads series over epochs. */
  readonly seriesHash: number;
  /** Chunks are counted from 1970. */
  readonly index: number;
}

/** Epochs of some chunks before they were read from the store. The read is current while they are unchanged. */
export interface ReadToken {
  readonly at: readonly number[];
  readonly epochs: readonly number[];
  /** When the first epoch was read, ms of `performance.now`. */
  readonly takenAt: number;
}

/**
 * Distance of chunks that share an epoch, slots. Chunks share epochs by their position in time and by series; a write
 * to one chunk invalidates all chunks of its epoch.
 */
const SPAN_SLOTS = 16 * 168;
/** Number of epochs of a single process, and of processes that share them. */
const OWN_EPOCHS = 65_536;
const SHARED_EPOCHS = 4_096;

/**
 * Maximum age of a cached entry if other processes may write the series, or the store may complete a write after it was
 * rejected, ms. It bounds how long a write without an announcement stays hidden.
 */
const MAX_AGE_MS = 10_000;

/** An epoch that no chunk has; marks a chunk that was written between two tokens. */
const NEVER = -1;

/** Combines tokens: the result is current while each of them is. */
export function joinTokens(tokens: readonly ReadToken[]): ReadToken {
  if (tokens.length === 1) return tokens[0] as ReadToken;
  const joined = new Map<number, number>();
  let takenAt = Number.POSITIVE_INFINITY;
  for (const token of tokens) {
    takenAt = Math.min(takenAt, token.takenAt);
    for (const [i, index] of token.at.entries()) {
      const epoch = token.epochs[i] as number;
      joined.set(index, (joined.get(index) ?? epoch) === epoch ? epoch : NEVER);
    }
  }
  return { at: [...joined.keys()], epochs: [...joined.values()], takenAt };
}

export interface EpochOptions {
  /** Whether this process owns the store exclusively. */
  readonly exclusive: boolean;
  /** The invalidation shared with the processes that write the same series; undefined for a single process. */
  readonly shared?: SharedInvalidation | undefined;
}

/**
 * Counters that each write increments after it is stored and before it is answered. One rule applies to every cached
 * entry: it is valid while the epochs of its chunks equal those of its read and, unless this process owns the store
 * exclusively, for at most 10 s. Chunks of one epoch invalidate each other, which costs a read.
 */
export class Epochs {
  readonly #chunkSlots: number;
  readonly #exclusive: boolean;
  readonly #shared: SharedInvalidation | undefined;
  /**
   * Number of consecutive chunks of one series with different epochs, and number of epochs over which series are spread
   * for each chunk.
   */
  readonly #phases: number;
  readonly #names: number;
  readonly #epochs: Float64Array;

  constructor(chunkSlots: number, { exclusive, shared }: EpochOptions) {
    this.#chunkSlots = chunkSlots;
    this.#exclusive = exclusive;
    this.#shared = shared;
    const most = shared === undefined ? OWN_EPOCHS : SHARED_EPOCHS;
    this.#phases = Math.ceil(SPAN_SLOTS / chunkSlots);
    this.#names = Math.floor(most / this.#phases);
    this.#epochs = new Float64Array(most);
    shared?.listen((at) => this.#raise(at));
  }

  /** Returns the current token of a chunk. Call it before the chunk is read. */
  token(chunk: Chunk): ReadToken {
    const at = this.#indexOf(chunk.seriesHash, chunk.index);
    return { at: [at], epochs: [this.#epochs[at] as number], takenAt: performance.now() };
  }

  /** Returns whether a read under this token is still valid. */
  isCurrent({ at, epochs, takenAt }: ReadToken): boolean {
    if (!this.#exclusive && performance.now() - takenAt > MAX_AGE_MS) return false;
    if (this.#shared?.isReliable() === false) return false;
    for (let i = 0; i < at.length; i += 1) if (this.#epochs[at[i] as number] !== epochs[i]) return false;
    return true;
  }

  /**
   * Invalidates windows that were, or may have been, written. Once it resolves no earlier entry is valid, including
   * sums over these series: in this process from then on, in others within a second. Rejects if the write cannot be
   * announced to the other processes.
   */
  async written(windows: readonly SeriesWindow[]): Promise<void> {
    const at = [...this.#indexes(windows)];
    try {
      await this.#shared?.announce(at);
    } finally {
      this.#raise(at);
    }
  }

  /** Invalidates every earlier entry of this process. */
  endAll(): void {
    this.#raise(this.#epochs.keys());
  }

  #raise(at: Iterable<number>): void {
    for (const i of at) this.#epochs[i] = (this.#epochs[i] as number) + 1;
  }

  #indexes(windows: readonly SeriesWindow[]): Set<number> {
    const at = new Set<number>();
    for (const { series, from, to } of windows) {
      const hash = seriesHash(series);
      const sum = sumOver(series);
      const sumHash = sum && seriesHash(sum);
      const length = this.#chunkSlots * series.dimension.slotMs;
      for (let index = Math.floor(from / length); index * length < to; index += 1) {
        at.add(this.#indexOf(hash, index));
        if (sumHash !== undefined) at.add(this.#indexOf(sumHash, index));
      }
    }
    return at;
  }

  #indexOf(hash: number, chunk: number): number {
    return (((chunk % this.#phases) + this.#phases) % this.#phases) * this.#names + (hash % this.#names);
  }
}

/** A value computed from slots read under this token. */
export interface TokenValue<T> {
  readonly value: T;
  readonly token: ReadToken;
}

/** Memory of a token, and of each of its epochs, bytes. */
const TOKEN_BYTES = 200;
const EPOCH_BYTES = 16;

/** Values by key. An entry is valid while its token is current; there is no other rule. */
export class TokenCache<T> {
  readonly #cache: SharedCache<TokenValue<T>>;
  readonly #bytesOf: (value: T) => number;
  /** Returns whether an entry is valid, cached or not. */
  readonly isValid: (entry: TokenValue<T>) => boolean;

  /** `bytesOf` returns the memory of a value without its key and its token. */
  constructor(epochs: Epochs, memory: CacheMemory, bytesOf: (value: T) => number) {
    this.#cache = new SharedCache(memory);
    this.#bytesOf = bytesOf;
    this.isValid = ({ token }) => epochs.isCurrent(token);
  }

  /** Returns the valid entry of a key. */
  get(key: string): TokenValue<T> | undefined {
    return this.#cache.get(key, this.isValid);
  }

  /** Caches an entry unless it is already out of date. */
  set(key: string, entry: TokenValue<T>): void {
    if (!this.isValid(entry)) return;
    const bytes = TOKEN_BYTES + EPOCH_BYTES * entry.token.at.length;
    this.#cache.set(key, entry, bytes + this.#bytesOf(entry.value));
  }

  /** Counts bytes by which a cached value has grown. */
  grow(key: string, entry: TokenValue<T>, bytes: number): void {
    this.#cache.grow(key, entry, bytes);
  }
}

/** Returns the chunks of `chunkSlots` slots that overlap a window, ascending. */
export function chunksOf({ series, from, to }: SeriesWindow, chunkSlots: number): Chunk[] {
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
