import type { Series, SlotColumn } from "./series.js";

/** A window of one series. `from` and `to` are slot boundaries, Unix ms; the window is [from, to). */
export interface SeriesWindow {
  readonly series: Series;
  readonly from: number;
  readonly to: number;
}

/** Who wrote a value. Each plane of a series has slots of its own, which the other's writes leave as they are. */
export type Plane = "clients" | "recorder";

export const planes: readonly Plane[] = ["clients", "recorder"];

/** PORT. Saved slots by series, in two planes. */
export interface SeriesStore {
  /**
   * Slots of one series that lie together, counted from 1970: to read some of them costs hardly less than to read all. Who
   * keeps what was read keeps it in chunks of so many.
   */
  readonly chunkSlots: number;

  /**
   * Keeps every slot of the columns that is not NaN in this plane; the others stay as they are. A slot already kept in it is replaced,
   * and of two columns in one call that name the same slot the later one stays. Resolves when all of it survives a crash; a call
   * that rejects may have kept a part where the engine cannot keep all or nothing, and is safe to repeat. Rejects with `invalid`
   * when the engine's own retention is over for one of the slots: nothing is kept then, unless the retention became shorter
   * during the call.
   */
  write(plane: Plane, columns: readonly SlotColumn[]): Promise<void>;

  /**
   * The slots of each window, in the order asked: a column of exactly (to - from) / slotMs values, NaN where nothing is
   * saved, also for a series that was never written. A slot has the value of the clients, or the recorder's where they have none; with
   * `plane` it has that plane's alone. Sees every write that resolved before the call. Rejects rather than
   * hand out a part. A column is not to be changed: those in which nothing is saved may be one and the same.
   */
  read(windows: readonly SeriesWindow[], plane?: Plane): Promise<Float64Array[]>;

  /**
   * False when the series is certainly not there: no write that resolved before the call named it. To ask costs next to
   * nothing; an engine that cannot know says true.
   */
  mayHold(series: Series): boolean;

  /** Forgets slots of both planes that start before `before` (Unix ms). May keep some longer; safe to repeat. */
  expire(before: number): Promise<void>;
}
