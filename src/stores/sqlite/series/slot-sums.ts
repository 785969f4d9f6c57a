import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import { type CacheMemory, SharedCache } from "../../../cache-memory.js";
import { ExactSum } from "../../../exact-sum.js";
import { type AddedPoint, type AddedPoints, type Series, seriesKey } from "../../../metrics/series.js";
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
  /** The rest that is stored. */
  storedRest: number | Uint8Array;

  constructor(sum: number, rest: number | Uint8Array) {
    super(sum, rest);
    this.storedRest = rest;
  }
}

/** A slot of a write: its series, as a place in the list of the write's series, and the slot, counted from 1970. */
export interface WrittenSlot {
  readonly series: number;
  readonly slot: number;
  readonly sum: SlotSum;
}

/** A point of a write, with its slot. */
export interface PlacedPoint {
  readonly slot: WrittenSlot;
  readonly point: AddedPoint;
}

/** The series of a write, each once, their numbers where they have one, and its points. */
export interface PlacedPoints {
  readonly series: readonly Series[];
  readonly ids: readonly (number | undefined)[];
  readonly points: PlacedPoint[];
}

/** Consecutive points of a write in one slot. */
interface SlotPoints {
  readonly series: Series;
  readonly slot: number;
  readonly points: readonly AddedPoint[];
}

export interface SlotSumDependencies {
  readonly ids: Pick<SeriesIds, "find">;
  readonly read: ReadWindows;
  readonly cache: CacheMemory;
}

/** The sums of added points in `metrics.db`, cached. */
export class SlotSums {
  readonly #ids;
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

  /** Resolves with the points and the sums of their slots, one for each slot. */
  async place(added: readonly AddedPoints[]): Promise<PlacedPoints> {
    const series: Series[] = [];
    const ids: (number | undefined)[] = [];
    const points: PlacedPoint[] = [];
    const places = new Map<string, number>();
    const slots = new Map<number, WrittenSlot>();
    for (const some of weightedBatches(slotPoints(added), SUMS_AT_ONCE)) {
      const slotOf = some.map((slotPoints) => {
        const key = seriesKey(slotPoints.series);
        const place = places.get(key) ?? series.length;
        if (place === series.length) {
          places.set(key, place);
          series.push(slotPoints.series);
          ids.push(this.#ids.find(slotPoints.series));
        }
        return { ...slotPoints, place, id: ids[place], key: placeOf(place, slotPoints.slot) };
      });
      const fresh = slotOf.filter(({ key }) => !slots.has(key));
      for (const [i, sum] of this.#sumsOf(fresh).entries()) {
        const { key, place, slot } = fresh[i] as (typeof fresh)[number];
        slots.set(key, { series: place, slot, sum });
      }
      for (const { key, points: ofSlot } of slotOf)
        for (const point of ofSlot) points.push({ slot: slots.get(key) as WrittenSlot, point });
      await yieldWhenDue();
    }
    return { series, ids, points };
  }

  /** Caches the sums of a write that is stored. */
  cache({ series, slots }: { readonly series: readonly Series[]; readonly slots: readonly WrittenSlot[] }): void {
    const ids = series.map((one) => this.#ids.find(one));
    for (const { series: place, slot, sum } of slots)
      this.#sums.set(placeOf(ids[place] as number, slot), sum, SUM_BYTES);
  }

  forget(): void {
    this.#sums.clear();
  }

  /** Returns the stored sums of slots. */
  #sumsOf(slots: readonly (SlotPoints & { readonly id: number | undefined })[]): SlotSum[] {
    const cached = slots.map(({ id, slot }) => (id === undefined ? undefined : this.#sums.get(placeOf(id, slot))));
    const missing = slots.filter((_, i) => cached[i] === undefined);
    const windows = missing.map(({ series, slot }) => {
      const { slotMs } = series.dimension;
      return { series, from: slot * slotMs, to: (slot + 1) * slotMs };
    });
    const columns = this.#read(windows, "added");
    const loaded = missing.map(({ series, id = 0, slot }, i) => {
      const [sum = Number.NaN] = columns[i] as Float64Array;
      const { rest = 0 } = (this.#restOf.get(slot * series.dimension.slotMs, id) ?? {}) as {
        rest?: number | Uint8Array;
      };
      return new SlotSum(Number.isNaN(sum) ? 0 : sum, rest);
    });
    const next = loaded.values();
    return cached.map((sum) => sum ?? (next.next().value as SlotSum));
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
