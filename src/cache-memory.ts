/** Share of new entries that are admitted while the memory is full. */
const ADMITTED = 1 / 4;

/** Maximum counted uses of an entry. Each one spares the entry from one removal. */
const MAX_USES = 3;

/** Memory of an entry besides its key and its value, bytes. */
const ENTRY_BYTES = 150;

type Key = string | number;

interface Entry<V> {
  readonly key: Key;
  readonly of: Map<Key, Entry<V>>;
  value: V;
  bytes: number;
  uses: number;
}

/**
 * Bytes that all caches of a process share, and the state that counts with them. To make room, the oldest entry without
 * a counted use is removed, whichever cache it belongs to; an older entry with a counted use is spared, loses one use
 * and becomes the newest. This is the main queue of S3-FIFO (Yang et al., "FIFO queues are all you need for cache
 * eviction", SOSP 2023).
 *
 * If requests cycle through slightly more data than the memory holds, each entry is removed just before its next use,
 * in this queue as in LRU and SIEVE. So while the memory is full, most new entries are refused and the stored ones stay
 * (bimodal insertion: Qureshi et al., "Adaptive insertion policies for high performance caching", ISCA 2007).
 */
export class CacheMemory {
  /** Maximum bytes. */
  readonly #most: number;
  /** From the oldest to the newest. */
  readonly #entries = new Set<Entry<unknown>>();
  /** Shared by all removals: a new iterator would first skip the places of removed entries. */
  #oldest = this.#entries.values();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an entry or refuses it. */
  add(entry: Entry<unknown>): boolean {
    const fits = this.#bytes + entry.bytes <= this.#most;
    if (entry.bytes > this.#most || !(fits || Math.random() < ADMITTED)) return false;
    this.#makeRoom(entry.bytes);
    if (this.#bytes + entry.bytes > this.#most) return false;
    this.#entries.add(entry);
    this.#bytes += entry.bytes;
    return true;
  }

  /** Counts bytes of state that is in use, and so is not removed, or no longer counts them if negative. */
  hold(bytes: number): void {
    this.#bytes += bytes;
    this.#makeRoom(0);
  }

  remove(entry: Entry<unknown>): void {
    this.#entries.delete(entry);
    entry.of.delete(entry.key);
    this.#bytes -= entry.bytes;
  }

  /** Changes the bytes of an entry, which may remove it. */
  resize(entry: Entry<unknown>, bytes: number): void {
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    this.#makeRoom(0);
  }

  #makeRoom(bytes: number): void {
    while (this.#bytes + bytes > this.#most && this.#entries.size > 0) {
      const { value: entry, done } = this.#oldest.next();
      if (done) {
        this.#oldest = this.#entries.values();
        continue;
      }
      if (entry.uses > 0) {
        entry.uses -= 1;
        this.#entries.delete(entry);
        this.#entries.add(entry);
      } else this.remove(entry);
    }
  }
}

/** Values by key in a memory that other caches may share. */
export class SharedCache<V, K extends Key = string> {
  readonly #memory: CacheMemory;
  readonly #entries = new Map<Key, Entry<V>>();

  constructor(memory: CacheMemory) {
    this.#memory = memory;
  }

  /** Returns the value of a key if it is valid. */
  get(key: K, isValid?: (value: V) => boolean): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || isValid?.(entry.value) === false) return undefined;
    if (entry.uses < MAX_USES) entry.uses += 1;
    return entry.value;
  }

  /** Caches a value of these bytes, unless the memory refuses it. A later value of a key replaces the earlier one. */
  set(key: K, value: V, bytes: number): void {
    const size = ENTRY_BYTES + (typeof key === "string" ? key.length : 0) + bytes;
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.value = value;
      this.#memory.resize(entry, size);
      return;
    }
    const added: Entry<V> = { key, of: this.#entries, value, bytes: size, uses: 0 };
    if (this.#memory.add(added as Entry<unknown>)) this.#entries.set(key, added);
  }

  /** Adds bytes to a value that has grown, if it is still cached. */
  grow(key: K, value: V, bytes: number): void {
    const entry = this.#entries.get(key);
    if (entry?.value === value) this.#memory.resize(entry as Entry<unknown>, entry.bytes + bytes);
  }

  clear(): void {
    for (const entry of this.#entries.values()) this.#memory.remove(entry as Entry<unknown>);
  }
}
