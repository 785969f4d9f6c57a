import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import { type CacheMemory, SharedCache } from "../../../cache-memory.js";
import { ExactSum } from "../../../exact-sum.js";
import type { AddedPoint, AddedPoints, Series } from "../../../metrics/series.js";
import type { Database } from "../connection.js";
import { placeOf } from "./journal-table.js";
import type { SeriesIds } from "./series-ids.js";
import type { ReadWindows } from "./window-reader.js";

/** Memory of a cached sum, bytes. */
const SUM_BYTES = 150;

/** Sums read before other requests run. */
const SUMS_AT_ONCE = 400;

/** The exact sum of the points of one slot. */
export class SlotSum extends ExactSum {
  /** Number of the series. */
  readonly series: number;
  /** The slot, counted from 1970, and its start, Unix ms. */
  readonly slot: number;
  readonly start: number;
  /** The rest that is stored. */
  storedRest: number | Uint8Array;

  constructor(
    place: { readonly series: number; readonly slot: number; readonly start: number },
    sum: number,
    rest: number | Uint8Array,
  ) {
    super(sum, rest);
    this.series = place.series;
    this.slot = place.slot;
    this.start = place.start;
    this.storedRest = rest;
  }
}

/** A point of a write, with the number of its series and the sum of its slot. */
export interface PlacedPoint {
  readonly series: number;
  readonly sum: SlotSum;
  readonly point: AddedPoint;
}

/** Consecutive points of a write in one slot. */
interface SlotPoints {
  readonly series: Series;
  readonly slot: number;
  readonly points: readonly AddedPoint[];
}

interface PlacedSlot extends SlotPoints {
  /** Number of the series. */
  readonly id: number;
  readonly place: number;
}

export interface SlotSumDependencies {
  readonly ids: SeriesIds;
  readonly read: ReadWindows;
  readonly cache: CacheMemory;
}

/** The sums of added points in `metrics.db`, cached. */
export class SlotSums {
  readonly #ids: SeriesIds;
  readonly #read: ReadWindows;
  readonly #restOf;
  /** Sums by the place of their slot. */
  readonly #sums: SharedCache<SlotSum, number>;

  constructor(db: Database, { ids, read, cache }: SlotSumDependencies) {
    this.#sums = new SharedCache(cache);
    this.#ids = ids;
    this.#read = read;
    this.#restOf = db.prepare("SELECT rest FROM added_rest WHERE slot = ? AND series = ?");
  }

  /**
   * Resolves with the points and the sums of their slots, one for each slot, and adds the numbers of their series to
   * `used`. New series are not listed.
   */
  async place(added: readonly AddedPoints[], used: Set<number>): Promise<PlacedPoint[]> {
    const placed: PlacedPoint[] = [];
    // Not only in the cache, which may remove any of them at any time: a slot has one sum in a write.
    const sums = new Map<number, SlotSum>();
    for (const some of weightedBatches(slotPoints(added), SUMS_AT_ONCE)) {
      const ids = this.#ids.addUnlisted(some.map(({ series }) => series));
      const slots = some.map(({ series, slot, points }, i): PlacedSlot => {
        const id = ids[i] as number;
        return { series, id, slot, place: placeOf(id, slot), points };
      });
      for (const { place } of slots) {
        const known = sums.get(place) ?? this.#sums.get(place);
        if (known !== undefined) sums.set(place, known);
      }
      this.#loadSome(
        slots.filter(({ place }) => !sums.has(place)),
        sums,
      );
      for (const { id, place, points } of slots) {
        const sum = sums.get(place) as SlotSum;
        used.add(id);
        for (const point of points) placed.push({ series: id, sum, point });
      }
      await yieldWhenDue();
    }
    for (const [place, sum] of sums) this.#sums.set(place, sum, SUM_BYTES);
    return placed;
  }

  forget(): void {
    this.#sums.clear();
  }

  /** Adds the stored sums of slots to `sums`. */
  #loadSome(slots: readonly PlacedSlot[], sums: Map<number, SlotSum>): void {
    if (slots.length === 0) return;
    const windows = slots.map(({ series, slot }) => {
      const { slotMs } = series.dimension;
      return { series, from: slot * slotMs, to: (slot + 1) * slotMs };
    });
    const columns = this.#read(windows, "added");
    for (const [i, { series, id, slot, place }] of slots.entries()) {
      const [sum = Number.NaN] = columns[i] as Float64Array;
      const start = slot * series.dimension.slotMs;
      const { rest = 0 } = (this.#restOf.get(start, id) ?? {}) as { rest?: number | Uint8Array };
      sums.set(place, new SlotSum({ series: id, slot, start }, Number.isNaN(sum) ? 0 : sum, rest));
    }
  }
}

/** Yields the points of each series by slot. */
function* slotPoints(added: readonly AddedPoints[]): Iterable<SlotPoints> {
  for (const { series, points } of added) {
    const slotOf = (at: number) => Math.floor((points[at]?.ms ?? Number.NaN) / series.dimension.slotMs);
    for (let from = 0; from < points.length; ) {
      const slot = slotOf(from);
      let to = from + 1;
      while (slotOf(to) === slot) to += 1;
      yield { series, slot, points: points.slice(from, to) };
      from = to;
    }
  }
}
