import { setImmediate } from "node:timers/promises";
import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import type { CacheMemory } from "../../../cache-memory.js";
import { invalid } from "../../../errors.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import { type AddedPoints, type Series, slotStart } from "../../../metrics/series.js";
import { type Database, inTransaction } from "../connection.js";
import { raiseTo, storedValue } from "../database-facts.js";
import { type AddedRows, addedRows, KEYS_AT_ONCE, pointRows, type RestRow } from "./added-rows.js";
import { sourceNumber } from "./chunks.js";
import type { PlacedSlots } from "./journal-table.js";
import type { SeriesIds } from "./series-ids.js";
import { type PlacedPoint, SlotSums, type WrittenSlot } from "./slot-sums.js";
import type { ReadWindows } from "./window-reader.js";

/** Fact of `metrics.db`. */
const SETTLED = "settled";

/** Returns the instant (Unix ms) before which all slots of `metrics.db` are settled: only their sums are stored. */
export function settledIn(db: Database): number {
  return Number(storedValue(db, SETTLED) ?? 0);
}

/** Sums rounded before other requests run. */
const SUMS_AT_ONCE = 400;

/** The number of no series. */
const NO_SERIES = 0;

/** Points stored as rows in one transaction; other requests run in between. */
const POINTS_AT_ONCE = 4_000;

/** Points removed in one transaction; other requests run in between. */
const REMOVED_AT_ONCE = 2_000;

/** A prepared write. */
export interface AddedChange {
  /** Its series; its slots name them by their place in this list. */
  readonly series: readonly Series[];
  /** Start of its oldest slot, Unix ms. */
  readonly oldest: number;
  /** The points that are new or have another value. */
  readonly points: readonly PlacedPoint[];
  /** The slots of these points, and their new sums. */
  readonly slots: readonly WrittenSlot[];
  readonly sums: Float64Array;
  /** The rests that have changed, with the place of their series. */
  readonly rests: readonly RestRow[];
}

export interface AddedPointOptions {
  readonly failpoint?: Failpoint | undefined;
  readonly pointsAtOnce?: number | undefined;
}

interface AddedPointDependencies extends AddedPointOptions {
  readonly ids: SeriesIds;
  readonly read: ReadWindows;
  readonly cache: CacheMemory;
}

/**
 * The added points of `metrics.db`. One write at a time is prepared, while other requests run; one transaction then
 * stores its points together with the sums of their slots. It stores the points of a large write as pieces, which take
 * a few ms, and later transactions store these as rows.
 */
export class AddedPointTable {
  readonly #db: Database;
  readonly #ids: SeriesIds;
  readonly #failpoint: Failpoint;
  readonly #rows: AddedRows;
  readonly #pointsAtOnce: number;
  readonly #sums: SlotSums;
  #settled: number;

  constructor(
    db: Database,
    { ids, read, cache, failpoint = noFailpoint, pointsAtOnce = POINTS_AT_ONCE }: AddedPointDependencies,
  ) {
    this.#db = db;
    this.#failpoint = failpoint;
    this.#ids = ids;
    this.#rows = addedRows(db);
    this.#pointsAtOnce = pointsAtOnce;
    this.#sums = new SlotSums(db, { ids, read, cache });
    this.#settled = settledIn(db);
  }

  /** Stores the points of pieces as rows. Rejects with SQLite's error; then the next call continues. */
  async storePieces(): Promise<void> {
    while (this.#rows.putPiece()) {
      this.#failpoint("added-piece-stored");
      await setImmediate();
    }
  }

  /**
   * Passes the change that these points are to `store`. Rejects, and stores nothing, with `invalid` if a slot is
   * settled, with SQLite's error, or as `store` does.
   */
  async add(added: readonly AddedPoints[], store: (change: AddedChange) => Promise<void>): Promise<void> {
    try {
      await this.storePieces();
      const change = await this.#prepare(added);
      this.#failpoint("added-points-prepared");
      await store(change);
      this.#sums.cache(change);
    } catch (error) {
      this.forget();
      throw error;
    }
    // The points are stored. A failure concerns the next call, which continues.
    await this.storePieces().catch(() => {});
  }

  async #prepare(added: readonly AddedPoints[]): Promise<AddedChange> {
    const oldest = oldestSlot(added);
    this.#refuseSettled(oldest);
    const { series, ids, points } = await this.#sums.place(added);
    points.sort(inOrderOfRows);
    // The later one counts if a point is there twice.
    const latest = points.filter(
      (point, i) => i + 1 === points.length || inOrderOfRows(point, points[i + 1] as PlacedPoint) !== 0,
    );
    const changed: PlacedPoint[] = [];
    for (const batch of weightedBatches(latest, KEYS_AT_ONCE)) {
      const stored = this.#rows.valuesOf(
        batch.map(({ slot, point }) => ({ series: ids[slot.series] ?? NO_SERIES, point })),
      );
      for (const [i, placed] of batch.entries()) {
        const { slot, point } = placed;
        const old = stored[i];
        if (old === point.value) continue;
        if (old !== undefined) slot.sum.add(-old);
        slot.sum.add(point.value);
        changed.push(placed);
      }
      await yieldWhenDue();
    }
    const slots = [...new Set(changed.map(({ slot }) => slot))];
    return { series, oldest, points: changed, slots, ...(await newSums(slots, series)) };
  }

  /**
   * Stores a change inside the caller's transaction, and returns the new sums, to be stored in it as well. Throws
   * `invalid` if a slot is settled.
   */
  store({ series, oldest, points, slots, sums, rests }: AddedChange): PlacedSlots[] {
    this.#refuseSettled(oldest);
    const ids = series.map((one) => this.#ids.findOrAdd(one));
    const idOf = (place: number) => ids[place] as number;
    const rows = pointRows(points.map(({ slot, point }) => ({ series: idOf(slot.series), point })));
    const restRows = rests.map(([start, place, rest]): RestRow => [start, idOf(place), rest]);
    if (points.length <= this.#pointsAtOnce) this.#rows.put(rows, restRows);
    else this.#rows.addPieces(rows, restRows, this.#pointsAtOnce);
    return slots.map(({ series: place, slot }, i) => {
      return { series: idOf(place), source: sourceNumber.added, slot, values: sums, start: i, end: i + 1 };
    });
  }

  #refuseSettled(oldest: number): void {
    if (oldest < this.#settled) throw invalid("before_retention", "", "Only the sum of an older slot is kept");
  }

  /** Forgets the cached sums: call it after a change that was not stored, and after slots were removed. */
  forget(): void {
    this.#sums.forget();
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
}

/** Returns the start of the oldest slot, Unix ms. */
function oldestSlot(added: readonly AddedPoints[]): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { series, points } of added)
    for (const { ms } of points) oldest = Math.min(oldest, slotStart(series.dimension, ms));
  return oldest;
}

/** Returns the new sums of slots, and the rests that have changed. */
async function newSums(
  slots: readonly WrittenSlot[],
  series: readonly Series[],
): Promise<Pick<AddedChange, "sums" | "rests">> {
  const sums = new Float64Array(slots.length);
  const rests: RestRow[] = [];
  for (const [i, { series: place, slot, sum: exact }] of slots.entries()) {
    const { sum, rest } = exact.round();
    sums[i] = sum;
    if (rest !== exact.storedRest) {
      rests.push([slot * (series[place] as Series).dimension.slotMs, place, rest]);
      exact.storedRest = rest;
    }
    if (i % SUMS_AT_ONCE === 0) await yieldWhenDue();
  }
  return { sums, rests };
}

/** Compares points nearly as their rows are ordered: by the places of their series. The same point has 0. */
function inOrderOfRows({ slot: a, point: p }: PlacedPoint, { slot: b, point: q }: PlacedPoint): number {
  return p.ms - q.ms || p.ns - q.ns || a.series - b.series || p.source - q.source;
}
