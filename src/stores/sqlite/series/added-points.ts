import { setImmediate } from "node:timers/promises";
import { weightedBatches } from "../../../async/weighted-batches.js";
import { invalid } from "../../../errors.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import type { AddedPoint, AddedPoints, Series } from "../../../metrics/series.js";
import { type Database, inTransaction } from "../connection.js";
import { raiseTo, storedValue } from "../database-facts.js";
import { sourceNumber } from "./chunks.js";
import { type PlacedSlots, placeOf } from "./journal-table.js";
import type { SeriesIds } from "./series-ids.js";
import { SlotSum } from "./slot-sum.js";
import type { ReadWindows } from "./window-reader.js";

/**
 * The points of slots that are not settled, under the number of their series. In the order of time, so that a commit
 * writes few pages, and settling removes neighbours. The sum of a slot is an ordinary value of the source `added`;
 * `added_rest` has the part of the sum that its double lacks, unless that is 0, in the form of `ExactSum`: a double, or
 * bytes if it needs more. `slot` is the slot's start, Unix ms.
 */
export const addedSchema = `CREATE TABLE IF NOT EXISTS added (
    ms INTEGER NOT NULL, ns INTEGER NOT NULL, series INTEGER NOT NULL, source INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (ms, ns, series, source)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS added_rest (
    slot INTEGER NOT NULL, series INTEGER NOT NULL, rest REAL NOT NULL, PRIMARY KEY (slot, series)
  ) WITHOUT ROWID`;

/** Fact of `metrics.db`. */
const SETTLED = "settled";

/** Returns the instant (Unix ms) before which all slots of `metrics.db` are settled: only their sums are stored. */
export function settledIn(db: Database): number {
  return Number(storedValue(db, SETTLED) ?? 0);
}

/** Points inserted by one statement: it takes about half of the time of a statement for each. */
const ROWS_AT_ONCE = 50;

/** Cached sums, approximately, and sums read before other requests run. */
const MOST_SUMS = 200_000;
const SUMS_AT_ONCE = 400;

/** SQLite's code for a row whose key is stored already. */
const KEY_EXISTS = 1555;

/** Points removed in one transaction; other requests run in between. */
const REMOVED_AT_ONCE = 2_000;

/** A point of a commit, with the number of its series and the sum of its slot. */
interface PlacedPoint {
  readonly id: number;
  readonly sum: SlotSum;
  readonly point: AddedPoint;
}

/** A slot of a series, which starts at `start` (Unix ms). */
interface Slot {
  readonly series: Series;
  readonly start: number;
}

interface AddedPointDependencies {
  readonly ids: SeriesIds;
  readonly read: ReadWindows;
  readonly failpoint?: Failpoint | undefined;
}

/** The added points of `metrics.db`. Each write updates the sums of its slots in the same transaction. */
export class AddedPointTable {
  readonly #db: Database;
  readonly #ids: SeriesIds;
  readonly #read: ReadWindows;
  readonly #failpoint: Failpoint;
  readonly #insertMany;
  readonly #insert;
  readonly #valueOf;
  readonly #replace;
  readonly #restOf;
  readonly #writeRest;
  /** Sums by the place of their slot. */
  readonly #sums = new Map<number, SlotSum>();
  #settled: number;

  constructor(db: Database, { ids, read, failpoint = noFailpoint }: AddedPointDependencies) {
    this.#db = db;
    this.#failpoint = failpoint;
    this.#ids = ids;
    this.#read = read;
    const rows = Array(ROWS_AT_ONCE).fill("(?, ?, ?, ?, ?)").join(", ");
    this.#insertMany = db.prepare(`INSERT INTO added VALUES ${rows}`);
    this.#insert = db.prepare("INSERT OR IGNORE INTO added VALUES (?, ?, ?, ?, ?)");
    this.#valueOf = db.prepare("SELECT value FROM added WHERE ms = ? AND ns = ? AND series = ? AND source = ?");
    this.#replace = db.prepare("UPDATE added SET value = ? WHERE ms = ? AND ns = ? AND series = ? AND source = ?");
    this.#restOf = db.prepare("SELECT rest FROM added_rest WHERE slot = ? AND series = ?");
    this.#writeRest = db.prepare(
      "INSERT INTO added_rest VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rest = excluded.rest",
    );
    this.#settled = settledIn(db);
  }

  /** Caches the sums of the slots, in batches, so that `store` need not read them. */
  async load(added: readonly AddedPoints[]): Promise<void> {
    if (this.#sums.size > MOST_SUMS) this.forget();
    for (const slots of weightedBatches(this.#unknownSlots(added), SUMS_AT_ONCE)) {
      this.#loadSome(slots);
      await setImmediate();
    }
  }

  /**
   * Stores points inside the caller's transaction, and returns the new sums of their slots, to be stored in it as well.
   * Call `forget` if that fails. Throws `invalid` if a slot is settled.
   */
  store(added: readonly AddedPoints[]): PlacedSlots[] {
    const sums = new Set<SlotSum>();
    const placed: PlacedPoint[] = [];
    for (const { series, points } of added) {
      const id = this.#ids.findOrAdd(series);
      let sum: SlotSum | undefined;
      for (const point of points) {
        const slot = Math.floor(point.ms / series.dimension.slotMs);
        if (sum?.slot !== slot) {
          sum = this.#sumOf(id, series, slot);
          sums.add(sum);
        }
        placed.push({ id, sum, point });
      }
    }
    for (let at = 0; at < placed.length; at += ROWS_AT_ONCE) {
      const some = placed.slice(at, at + ROWS_AT_ONCE);
      if (some.length < ROWS_AT_ONCE || !this.#areNew(some)) for (const one of some) this.#put(one);
    }
    return this.#newSums([...sums]);
  }

  /** Forgets the cached sums: call it after a transaction that failed, and after slots were removed. */
  forget(): void {
    this.#sums.clear();
  }

  /**
   * Implements `SeriesStore.settle`. The sums are stored already, so it only has to refuse further points of a slot
   * when it removes the first one: a point that is sent again would be counted twice. Other slots stay open: if the
   * clock was ahead, `before` may be later than the points of many days to come.
   */
  async settle(before: number): Promise<void> {
    const oldest = this.#db.prepare(
      "SELECT max(ms) AS ms FROM (SELECT ms FROM added WHERE ms < ? ORDER BY ms LIMIT ?)",
    );
    const remove = this.#db.prepare("DELETE FROM added WHERE ms <= ?");
    const removeRests = this.#db.prepare("DELETE FROM added_rest WHERE slot <= ?");
    const lastOf = () => (oldest.get(before, REMOVED_AT_ONCE) as { ms: number | null }).ms;
    for (let ms = lastOf(); ms !== null; ms = lastOf()) {
      const last = ms;
      this.#settled = Math.max(this.#settled, last + 1);
      inTransaction(this.#db, () => {
        raiseTo(this.#db)(SETTLED, last + 1);
        remove.run(last);
        removeRests.run(last);
      });
      this.#failpoint("slots-settled");
      await setImmediate();
    }
  }

  *#unknownSlots(added: readonly AddedPoints[]): Iterable<Slot> {
    for (const { series, points } of added) {
      const id = this.#ids.find(series);
      if (id === undefined) continue;
      const { slotMs } = series.dimension;
      let last = Number.NaN;
      for (const { ms } of points) {
        const slot = Math.floor(ms / slotMs);
        if (slot !== last && !this.#sums.has(placeOf(id, slot))) yield { series, start: slot * slotMs };
        last = slot;
      }
    }
  }

  #loadSome(slots: readonly Slot[]): void {
    const windows = slots.map(({ series, start }) => ({ series, from: start, to: start + series.dimension.slotMs }));
    const columns = this.#read(windows, "added");
    for (const [i, { series, start }] of slots.entries()) {
      const id = this.#ids.find(series) as number;
      const [sum = Number.NaN] = columns[i] as Float64Array;
      const { rest = 0 } = (this.#restOf.get(start, id) ?? {}) as { rest?: number | Uint8Array };
      const place = { series: id, slot: start / series.dimension.slotMs, start };
      this.#sums.set(placeOf(id, place.slot), new SlotSum(place, Number.isNaN(sum) ? 0 : sum, rest));
    }
  }

  #sumOf(id: number, series: Series, slot: number): SlotSum {
    const start = slot * series.dimension.slotMs;
    if (start < this.#settled) throw invalid("before_retention", "", "Only the sum of an older slot is kept");
    const place = placeOf(id, slot);
    const known = this.#sums.get(place);
    if (known !== undefined) return known;
    this.#loadSome([{ series, start }]);
    return this.#sums.get(place) as SlotSum;
  }

  /** Inserts points; returns false, with nothing changed, if one of them is stored already. */
  #areNew(placed: readonly PlacedPoint[]): boolean {
    const cells: number[] = [];
    for (const { id, point } of placed) cells.push(point.ms, point.ns, id, point.source, point.value);
    try {
      this.#insertMany.run(...cells);
    } catch (error) {
      if ((error as { errcode?: unknown }).errcode === KEY_EXISTS) return false;
      throw error;
    }
    for (const { sum, point } of placed) sum.add(point.value);
    return true;
  }

  /** Inserts a point, or replaces the stored one. */
  #put({ id, sum, point: { ms, ns, source, value } }: PlacedPoint): void {
    if (Number(this.#insert.run(ms, ns, id, source, value).changes) === 0) {
      const { value: old } = this.#valueOf.get(ms, ns, id, source) as { value: number };
      if (old === value) return;
      this.#replace.run(value, ms, ns, id, source);
      sum.add(-old);
    }
    sum.add(value);
  }

  /** Returns the new sums, and stores their rests. */
  #newSums(sums: readonly SlotSum[]): PlacedSlots[] {
    const values = new Float64Array(sums.length);
    return sums.map((slotSum, i) => {
      const { series, slot, start, storedRest } = slotSum;
      const { sum, rest } = slotSum.round();
      if (rest !== storedRest) {
        this.#writeRest.run(start, series, rest);
        slotSum.storedRest = rest;
      }
      values[i] = sum;
      return { series, source: sourceNumber.added, slot, values, start: i, end: i + 1 };
    });
  }
}
