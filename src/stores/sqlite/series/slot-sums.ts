import { weightedBatches } from "../../../async/weighted-batches.js";
import { yieldWhenDue } from "../../../async/yielding.js";
import { type CacheMemory, SharedCache } from "../../../cache-memory.js";
import { ExactSum } from "../../../exact-sum.js";
import type { SeriesWindow } from "../../../metrics/ports.js";
import { type AddedPoint, type AddedPoints, type Series, seriesKey } from "../../../metrics/series.js";
import type { Database } from "../connection.js";
import type { SeriesIds } from "./series-ids.js";
import type { ReadWindows } from "./window-reader.js";

/** Memory of a cached sum, bytes. */
const SUM_BYTES = 150;

/** Sums read before other requests run. */
const SUMS_AT_ONCE = 400;

/** The exact sum of the points of one slot. */
export class SlotSum extends ExactSum {
  readonly series: Series;
  /** The slot, counted from 1970. */
  readonly slot: number;
  /** Number of the series; undefined if it is new. */
  id: number | undefined;
  /** The rest that is stored. */
  storedRest: number | Uint8Array;

  constructor(
    { series, slot }: Pick<SlotSum, "series" | "slot">,
    id: number | undefined,
    sum = 0,
    rest: number | Uint8Array = 0,
  ) {
    super(sum, rest);
    this.series = series;
    this.slot = slot;
    this.id = id;
    this.storedRest = rest;
  }

  /** Start of the slot, Unix ms. */
  get start(): number {
    return this.slot * this.series.dimension.slotMs;
  }
}

/** A point of a write, with the sum of its slot. */
export interface PlacedPoint {
  readonly sum: SlotSum;
  /** Number of the sum in the write. */
  readonly place: number;
  readonly point: AddedPoint;
}

/** Consecutive points of a write in one slot. */
interface SlotPoints {
  readonly series: Series;
  readonly slot: number;
  readonly points: readonly AddedPoint[];
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
  readonly #sums: SharedCache<SlotSum>;

  constructor(db: Database, { ids, read, cache }: SlotSumDependencies) {
    this.#sums = new SharedCache(cache);
    this.#ids = ids;
    this.#read = read;
    this.#restOf = db.prepare("SELECT rest FROM added_rest WHERE slot = ? AND series = ?");
  }

  /** Resolves with the points and the sums of their slots, one for each slot. */
  async place(added: readonly AddedPoints[]): Promise<PlacedPoint[]> {
    const placed: PlacedPoint[] = [];
    // Not only in the cache, which may remove any of them at any time: a slot has one sum in a write.
    const sums = new Map<string, { readonly sum: SlotSum; readonly place: number }>();
    for (const batch of weightedBatches(slotPoints(added), SUMS_AT_ONCE)) {
      const keys = batch.map(({ series, slot }) => `${seriesKey(series)}\0${slot}`);
      const unknown = new Map<string, SlotPoints>();
      for (const [i, slot] of batch.entries()) {
        const key = keys[i] as string;
        const cached = sums.has(key) ? undefined : this.#sums.get(key);
        if (cached !== undefined) sums.set(key, { sum: cached, place: sums.size });
        else if (!sums.has(key)) unknown.set(key, slot);
      }
      const loaded = this.#load([...unknown.values()]).values();
      for (const key of unknown.keys()) sums.set(key, { sum: loaded.next().value as SlotSum, place: sums.size });
      for (const [i, { points }] of batch.entries()) {
        const { sum, place } = sums.get(keys[i] as string) as { sum: SlotSum; place: number };
        for (const point of points) placed.push({ sum, place, point });
      }
      await yieldWhenDue();
    }
    for (const [key, { sum }] of sums) this.#sums.set(key, sum, SUM_BYTES);
    return placed;
  }

  forget(): void {
    this.#sums.clear();
  }

  /** Returns the stored sums of slots. */
  #load(slots: readonly SlotPoints[]): SlotSum[] {
    const windows = slots.map(({ series, slot }) => {
      const { slotMs } = series.dimension;
      return { series, from: slot * slotMs, to: (slot + 1) * slotMs };
    });
    return this.#read(windows, "added").map(([sum = Number.NaN], i) => {
      const { series, from } = windows[i] as SeriesWindow;
      const id = this.#ids.find(series);
      const { rest } = (id === undefined ? {} : (this.#restOf.get(from, id) ?? {})) as { rest?: number | Uint8Array };
      return new SlotSum(slots[i] as SlotPoints, id, Number.isNaN(sum) ? 0 : sum, rest);
    });
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
