import { setImmediate } from "node:timers/promises";
import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import type { CacheMemory } from "../../../cache-memory.js";
import { invalid } from "../../../errors.js";
import { type Failpoint, noFailpoint } from "../../../failpoint.js";
import { type AddedPoints, slotStart } from "../../../metrics/series.js";
import { type Database, inTransaction } from "../connection.js";
import { raiseTo, storedValue } from "../database-facts.js";
import { type AddedRows, addedRows, KEYS_AT_ONCE, type PointRows, pointRows, type RestRow } from "./added-rows.js";
import { sourceNumber } from "./chunks.js";
import type { PlacedSlots } from "./journal-table.js";
import type { SeriesIds } from "./series-ids.js";
import { type PlacedPoint, type SlotSum, SlotSums } from "./slot-sums.js";
import type { ReadWindows } from "./window-reader.js";

/** Fact of `metrics.db`. */
const SETTLED = "settled";

/** Returns the instant (Unix ms) before which all slots of `metrics.db` are settled: only their sums are stored. */
export function settledIn(db: Database): number {
  return Number(storedValue(db, SETTLED) ?? 0);
}

/** Sums rounded before other requests run. */
const SUMS_AT_ONCE = 400;

/** Points stored in one transaction; other requests run in between. */
const POINTS_AT_ONCE = 4_000;

/** Points removed in one transaction; other requests run in between. */
const REMOVED_AT_ONCE = 2_000;

/** A prepared write. */
export type AddedChange = {
  /** The new sums of its slots. */
  readonly sums: readonly PlacedSlots[];
  /** Start of its oldest slot, Unix ms. */
  readonly oldest: number;
} & (
  | { readonly rows: PointRows; readonly rests: readonly RestRow[] }
  /** Id of its last piece. */
  | { readonly lastPiece: number }
);

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
 * stores its points together with the sums of their slots. The points of a large write, and its new series, are stored
 * before as pieces and unlisted series, which that transaction makes count.
 */
export class AddedPointTable {
  readonly #db: Database;
  readonly #ids: SeriesIds;
  readonly #failpoint: Failpoint;
  readonly #rows: AddedRows;
  readonly #pointsAtOnce: number;
  readonly #sums: SlotSums;
  /** Numbers of the series of the write that is being prepared. */
  readonly #adding = new Set<number>();
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

  /** Stores the points of counted pieces as rows. Rejects with SQLite's error; then the next call continues. */
  async storePieces(): Promise<void> {
    while (this.#rows.putPiece()) {
      this.#failpoint("added-piece-stored");
      await setImmediate();
    }
  }

  /** Removes the pieces and the series of writes that were prepared but not stored. */
  async #removeUnstored(): Promise<void> {
    while (this.#rows.removePiece() || this.#ids.removeUnlisted()) await setImmediate();
  }

  /** Returns whether a series (its id) has points in the write that is being prepared. */
  isAddingTo(series: number): boolean {
    return this.#adding.has(series);
  }

  /**
   * Passes the change that these points are to `store`. Rejects, and stores nothing, with `invalid` if a slot is
   * settled, with SQLite's error, or as `store` does.
   */
  async add(added: readonly AddedPoints[], store: (change: AddedChange) => Promise<void>): Promise<void> {
    try {
      await this.#removeUnstored();
      await this.storePieces();
      const change = await this.#prepare(added);
      this.#failpoint("added-points-prepared");
      await store(change);
    } catch (error) {
      this.forget();
      throw error;
    } finally {
      this.#adding.clear();
    }
    // The points are stored. A failure concerns the next call, which continues.
    await this.storePieces().catch(() => {});
  }

  async #prepare(added: readonly AddedPoints[]): Promise<AddedChange> {
    const oldest = oldestSlot(added);
    this.#refuseSettled(oldest);
    const placed = (await this.#sums.place(added, this.#adding)).sort(inOrderOfRows);
    // The later one counts if a point is there twice.
    const latest = placed.filter(
      (point, i) => i + 1 === placed.length || inOrderOfRows(point, placed[i + 1] as PlacedPoint) !== 0,
    );
    const changed: PlacedPoint[] = [];
    for (const batch of weightedBatches(latest, KEYS_AT_ONCE)) {
      const stored = this.#rows.valuesOf(batch);
      for (const [i, placedPoint] of batch.entries()) {
        const old = stored[i];
        if (old === placedPoint.point.value) continue;
        if (old !== undefined) placedPoint.sum.add(-old);
        placedPoint.sum.add(placedPoint.point.value);
        changed.push(placedPoint);
      }
      await yieldWhenDue();
    }
    const { sums, rests } = await newSums(new Set(changed.map(({ sum }) => sum)));
    if (changed.length <= this.#pointsAtOnce) return { rows: pointRows(changed), rests, sums, oldest };
    const pieces = [...weightedBatches(changed, this.#pointsAtOnce)];
    const share = Math.ceil(rests.length / pieces.length);
    let lastPiece = 0;
    for (const [i, some] of pieces.entries()) {
      lastPiece = this.#rows.addPiece(pointRows(some), rests.slice(i * share, (i + 1) * share));
      await yieldWhenDue();
    }
    return { sums, oldest, lastPiece };
  }

  /**
   * Stores a change inside the caller's transaction, and returns the new sums, to be stored in it as well. Throws
   * `invalid` if a slot is settled.
   */
  store(change: AddedChange): readonly PlacedSlots[] {
    this.#refuseSettled(change.oldest);
    if ("rows" in change) this.#rows.put(change.rows, change.rests);
    else this.#rows.countPieces(change.lastPiece);
    this.#ids.listAll();
    return change.sums;
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
async function newSums(slotSums: ReadonlySet<SlotSum>) {
  const values = new Float64Array(slotSums.size);
  const sums: PlacedSlots[] = [];
  const rests: RestRow[] = [];
  for (const some of weightedBatches(slotSums, SUMS_AT_ONCE)) {
    for (const slotSum of some) {
      const { series, slot, start: ms, storedRest } = slotSum;
      const { sum, rest } = slotSum.round();
      if (rest !== storedRest) {
        rests.push([ms, series, rest]);
        slotSum.storedRest = rest;
      }
      const start = sums.length;
      values[start] = sum;
      sums.push({ series, source: sourceNumber.added, slot, values, start, end: start + 1 });
    }
    await yieldWhenDue();
  }
  return { sums, rests };
}

/** Compares points as their rows are ordered; the same point has 0. */
function inOrderOfRows({ series: a, point: p }: PlacedPoint, { series: b, point: q }: PlacedPoint): number {
  return p.ms - q.ms || p.ns - q.ns || a - b || p.source - q.source;
}
