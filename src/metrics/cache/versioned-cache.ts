import { type CacheMemory, SharedCache } from "../../cache-memory.js";
import type { Generations, VersionVector } from "./generations.js";

/** A value, and the versions of the slots that it was computed from. */
export interface Versioned<T> {
  readonly value: T;
  readonly versions: VersionVector;
}

/** Memory of a version vector, and of each of its generations, bytes. */
const VECTOR_BYTES = 200;
const VERSION_BYTES = 16;

/** Values by key. An entry is valid while its versions are current; there is no other rule. */
export class VersionedCache<T> {
  readonly #cache: SharedCache<Versioned<T>>;
  readonly #bytesOf: (value: T) => number;
  /** Returns whether an entry is valid, cached or not. */
  readonly isValid: (entry: Versioned<T>) => boolean;

  /** `bytesOf` returns the memory of a value without its key and its versions. */
  constructor(generations: Generations, memory: CacheMemory, bytesOf: (value: T) => number) {
    this.#cache = new SharedCache(memory);
    this.#bytesOf = bytesOf;
    this.isValid = ({ versions }) => generations.isCurrent(versions);
  }

  /** Returns the valid entry of a key. */
  get(key: string): Versioned<T> | undefined {
    return this.#cache.get(key, this.isValid);
  }

  /** Caches an entry unless it is already out of date. */
  set(key: string, entry: Versioned<T>): void {
    if (!this.isValid(entry)) return;
    const bytes = VECTOR_BYTES + VERSION_BYTES * entry.versions.at.length;
    this.#cache.set(key, entry, bytes + this.#bytesOf(entry.value));
  }

  /** Counts bytes by which a cached value has grown. */
  grow(key: string, entry: Versioned<T>, bytes: number): void {
    this.#cache.grow(key, entry, bytes);
  }
}
