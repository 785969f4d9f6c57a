/**
 * Function that combines the values of a slot. `last` keeps the value with the latest time; of equal times, the later
 * line.
 */
export type Aggregation = "sum" | "max" | "min" | "last";

export const aggregations: readonly Aggregation[] = ["sum", "max", "min", "last"];

/** Combines two values of a slot. `isLater`: the second is not earlier than the first. */
export function aggregated(aggregation: Aggregation, first: number, second: number, isLater: boolean): number {
  if (aggregation === "sum") return first + second;
  if (aggregation === "max") return Math.max(first, second);
  if (aggregation === "min") return Math.min(first, second);
  return isLater ? second : first;
}

/** An aggregated slot: its key, its value, its latest time and the line with that time. */
export interface Slot {
  key: number;
  value: number;
  ms: number;
  origin: number;
}

/** Maximum slots per series since 1970 (hourly ones last until the year 2209). */
const SLOTS = 2 ** 21;

/** Returns a key for a series number and a slot counted from 1970, ordered by series, then slot. */
export function slotKey(series: number, slot: number): number {
  return series * SLOTS + slot;
}

export function seriesOfKey(key: number): number {
  return Math.floor(key / SLOTS);
}

export function slotOfKey(key: number): number {
  return key % SLOTS;
}

const FILLED = 0.7;

/** Slots by key in a hash table over number arrays: 32 bytes per entry. */
export class SlotTable {
  readonly #capacity: number;
  /** -1 in a free entry. */
  readonly #keys: Float64Array;
  readonly #values: Float64Array;
  readonly #times: Float64Array;
  readonly #origins: Float64Array;
  #count = 0;

  /** `capacity` is a power of two. The operating system allocates memory only for entries that are used. */
  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#keys = new Float64Array(capacity).fill(-1);
    this.#values = new Float64Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#origins = new Float64Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  /** Whether another slot may not fit. */
  get full(): boolean {
    return this.#count >= this.#capacity * FILLED;
  }

  /** Aggregates a value into its slot. */
  add(key: number, value: number, ms: number, origin: number, aggregation: Aggregation): void {
    const at = this.#find(key);
    if (this.#keys[at] === key) {
      const isLater = ms >= (this.#times[at] as number);
      this.#values[at] = aggregated(aggregation, this.#values[at] as number, value, isLater);
      if (!isLater) return;
    } else {
      this.#keys[at] = key;
      this.#values[at] = value;
      this.#count += 1;
    }
    this.#times[at] = ms;
    this.#origins[at] = origin;
  }

  /** Yields every slot in key order, in one reused object. */
  *slots(): Generator<Slot> {
    const slot: Slot = { key: 0, value: 0, ms: 0, origin: 0 };
    for (const key of this.#keys.filter((one) => one >= 0).sort()) {
      const at = this.#find(key);
      slot.key = key;
      slot.value = this.#values[at] as number;
      slot.ms = this.#times[at] as number;
      slot.origin = this.#origins[at] as number;
      yield slot;
    }
  }

  clear(): void {
    this.#keys.fill(-1);
    this.#count = 0;
  }

  /** Returns the index of a key, or of the free entry where it belongs. */
  #find(key: number): number {
    const mask = this.#capacity - 1;
    let hash = Math.imul(seriesOfKey(key) + 1, 0x9e3779b1) ^ Math.imul(slotOfKey(key) + 1, 0x85ebca6b);
    hash ^= hash >>> 15;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const found = this.#keys[at];
      if (found === key || found === -1) return at;
    }
  }
}
