import { DatabaseSync, EXACT_REAL, exactReal } from "../../stores/sqlite/connection.js";

/**
 * Function that combines the values of a slot. `last` keeps the value with the latest time; of equal times, the later
 * line.
 */
export type Aggregation = "sum" | "max" | "min" | "last";

export const aggregations: readonly Aggregation[] = ["sum", "max", "min", "last"];

/** An aggregated slot: its key, its value, its latest time and the line with that time. */
export interface Slot {
  readonly key: number;
  value: number;
  ms: number;
  origin: number;
}

/** Maximum slots per series since 1970 (hourly ones last until the year 2209). */
const SLOTS = 2 ** 21;

export function seriesOfKey(key: number): number {
  return Math.floor(key / SLOTS);
}

export function slotOfKey(key: number): number {
  return key % SLOTS;
}

/** Slots in memory: about 80 MB. */
const CAPACITY = 2 ** 19;

/**
 * Aggregates any number of values in any order into slots. Slots that exceed the memory are moved to a temporary
 * database, which SQLite sorts and deletes.
 */
export class SlotAggregator {
  readonly #slots = new Map<number, Slot>();
  readonly #capacity: number;
  readonly #db = new DatabaseSync("");
  readonly #insert;
  /** Held here, because an iterator does not keep its statement from being collected. */
  readonly #select;
  /** Aggregation of each series, by its number. */
  readonly #aggregations: readonly Aggregation[];
  #moved = 0;

  constructor(aggregations: readonly Aggregation[], capacity = CAPACITY) {
    this.#aggregations = aggregations;
    this.#capacity = capacity;
    this.#db.exec("PRAGMA journal_mode = OFF; CREATE TABLE slot (key REAL, value REAL, ms REAL, origin REAL)");
    this.#insert = this.#db.prepare(`INSERT INTO slot VALUES (?, ${EXACT_REAL}, ?, ?)`);
    this.#select = this.#db.prepare("SELECT * FROM slot ORDER BY key, rowid");
    this.#db.exec("BEGIN");
  }

  /** Slots so far; counts a slot again each time that it was moved. */
  get count(): number {
    return this.#moved + this.#slots.size;
  }

  add(series: number, slot: number, value: number, ms: number, origin: number): void {
    const key = series * SLOTS + slot;
    const known = this.#slots.get(key);
    if (known !== undefined) {
      this.#combine(known, value, ms, origin);
      return;
    }
    if (this.#slots.size === this.#capacity) this.#move();
    this.#slots.set(key, { key, value, ms, origin });
  }

  /** Yields every slot once, by series, then by time. No values may be added afterwards. */
  *slots(): Generator<Slot> {
    if (this.#moved === 0) {
      for (const key of Float64Array.from(this.#slots.keys()).sort()) yield this.#slots.get(key) as Slot;
      return;
    }
    this.#move();
    let combined: Slot | undefined;
    for (const slot of this.#select.iterate() as Iterable<object> as Iterable<Slot>) {
      if (slot.key === combined?.key) {
        this.#combine(combined, slot.value, slot.ms, slot.origin);
        continue;
      }
      if (combined !== undefined) yield combined;
      combined = slot;
    }
    if (combined !== undefined) yield combined;
  }

  close(): void {
    this.#db.close();
  }

  /** Combines a slot with the value of a later line. */
  #combine(slot: Slot, value: number, ms: number, origin: number): void {
    const isLater = ms >= slot.ms;
    const aggregation = this.#aggregations[seriesOfKey(slot.key)];
    if (aggregation === "sum") slot.value += value;
    else if (aggregation === "max") slot.value = Math.max(slot.value, value);
    else if (aggregation === "min") slot.value = Math.min(slot.value, value);
    else if (isLater) slot.value = value;
    if (!isLater) return;
    slot.ms = ms;
    slot.origin = origin;
  }

  #move(): void {
    for (const { key, value, ms, origin } of this.#slots.values())
      this.#insert.run(key, ...exactReal(value), ms, origin);
    this.#moved += this.#slots.size;
    this.#slots.clear();
  }
}
