import type { Dimension } from "./dimensions.js";
import type { Series, SlotColumn } from "./series.js";

/** A window of one series. `from` and `to` are slot boundaries, Unix ms; the window is [from, to). */
export interface SeriesWindow {
  readonly series: Series;
  readonly from: number;
  readonly to: number;
}

/**
 * Which kind of writer wrote a value. Each plane of a series has slots of its own, which the other's writes leave as
 * they are.
 */
export type Plane = "clients" | "recorder";

export const planes: readonly Plane[] = ["clients", "recorder"];

/** Ids that begin with `prefix` and contain `contains`, a `searchText`. */
export interface ListedIds {
  readonly prefix: string;
  readonly contains?: string;
}

/** PORT. Saved slots by series, in two planes. Rejects as every store does: see `ServiceErrorOf`. */
export interface SeriesStore {
  /**
   * Slots of one series that are stored together, counted from 1970: reading some of them costs hardly less than
   * reading all. The cache reads and keeps chunks of this length.
   */
  readonly chunkSlots: number;

  /**
   * Stores every slot of the columns that is not NaN in this plane, replacing a stored one; of two columns in one call
   * that name the same slot the later one wins. Resolves when all of it survives a crash. A call that rejects may have
   * stored a part where the engine cannot store all or nothing, and is safe to repeat. Rejects with `invalid` when a
   * slot is older than the engine's own retention: nothing is stored then, unless the retention became shorter during
   * the call.
   */
  write(plane: Plane, columns: readonly SlotColumn[]): Promise<void>;

  /**
   * Returns the slots of each window, in order: a column of exactly (to - from) / slotMs values, NaN where nothing is
   * saved, also for a series that was never written. A slot has the value of the clients, or the recorder's where they
   * have none; with `plane` it has that plane's alone. Sees every write that resolved before the call. Rejects rather
   * than return a part. A column must not be changed: columns in which nothing is saved may be the same object.
   */
  read(windows: readonly SeriesWindow[], plane?: Plane): Promise<Float64Array[]>;

  /**
   * Returns for each slot of [from, to) the sum over all series of a dimension and type of the values that `read`
   * returns; NaN where none is saved. Sees every write that resolved before the call, in every process. Rejects rather
   * than return a part. Takes memory for about 300,000 slots at most, whatever the number of series.
   */
  sum(dimension: Dimension, type: string, from: number, to: number): Promise<Float64Array>;

  /**
   * False when the series certainly does not exist: no write that resolved before the call named it. Costs next to
   * nothing; an engine that cannot know returns true.
   */
  mayHold(series: Series): boolean;

  /**
   * Lists ids of the dimension of which a series has a point in either plane, in the order of their UTF-8 bytes or,
   * `descending`, in the opposite order: those that are `among`, after the id `after`, at most `limit`, each with the
   * stored types that have a point. Sees every write of this process that resolved before the call; writes of other
   * processes, and expired series, within a minute. Every page costs the same.
   */
  list(
    dimension: Dimension,
    page: ListedIds & { readonly after?: string; readonly limit: number; readonly descending?: boolean },
  ): Promise<{ readonly id: string; readonly types: readonly string[] }[]>;

  /**
   * Number of ids that `list` would return without a limit. As cheap as a page while no series is added and `contains`
   * is empty.
   */
  count(dimension: Dimension, among: ListedIds): Promise<number>;

  /**
   * Removes slots of both planes that start before `before` (Unix ms). May keep some longer, as may a call that
   * rejects; safe to repeat.
   */
  expire(before: number): Promise<void>;
}

/** Number of writes by epoch; 0 where an epoch is missing. */
export type EpochCounts = ReadonlyMap<number, number>;

/**
 * PORT. Counts of the writes of series by epoch, shared by all processes over the same stores. Rejects as every store
 * does: see `ServiceErrorOf`.
 */
export interface SharedEpochs {
  /**
   * Adds 1 to each count. Resolves with the new counts when every later `read` returns them. A call that rejects may
   * have added.
   */
  increment(at: ReadonlySet<number>): Promise<EpochCounts>;
  /**
   * All counts with their version; undefined when their version is still `version`. Sees every increment that resolved
   * before the call, in every process.
   */
  read(version: number): Promise<{ readonly version: number; readonly counts: EpochCounts } | undefined>;
}

/** Messages counted for a stream in the slot that starts at `slot` (Unix ms). */
export interface SlotCount {
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  /**
   * What a store needs to note that this count was saved, and to see whether another recorder has saved the slot since.
   */
  readonly token?: unknown;
}

/** A stream that took messages. */
export interface CountedStream {
  readonly stream: string;
  /**
   * When the newest of its messages arrived, Unix ms. Never goes back: an erasure or the retention of messages leaves
   * it.
   */
  readonly lastArrival: number;
}

/** PORT. Counts of the messages of streams. Times are Unix ms. Rejects as every store does: see `ServiceErrorOf`. */
export interface SlotCounts {
  /**
   * Counts of slots starting before `before` that were never saved, or have grown since; oldest first, at most `limit`.
   */
  unsaved(before: number, limit: number): Promise<SlotCount[]>;
  /**
   * Notes what was saved. A count that has grown meanwhile stays unsaved, and so does one whose slot another recorder
   * saved since this one was read: which of the two was written last is not known. Safe to repeat.
   */
  saved(counts: readonly SlotCount[]): Promise<void>;
  /** Streams that took messages, by name, after the one named `after`; at most `limit`. */
  streams(after: string | undefined, limit: number): Promise<CountedStream[]>;
  /**
   * What is counted for these streams in slots that start in [from, to), Unix ms; a slot without messages may be
   * absent, another in parts.
   */
  counted(streams: readonly string[], from: number, to: number): Promise<SlotCount[]>;
  /** The sum of these counts for each stream; a stream without messages may be absent. */
  totals(streams: readonly string[], from: number, to: number): Promise<Map<string, number>>;
}

/**
 * `taken`: it was free. `renewed`: no other owner has held it since this owner took it. `refused`: another owner holds
 * it.
 */
export type LeaseResult = "taken" | "renewed" | "refused";

/**
 * PORT. Takes or renews the lease `name` for `owner` from `now` until `until` (Unix ms), unless another owner holds it
 * at `now`. A lease that begins after `now` was taken by a clock that has since been set back, and is over. Any number
 * of processes may call at once: one of them gets it. Rejects as every store does: see `ServiceErrorOf`; the lease may
 * have been taken then.
 */
export type Lease = (name: string, owner: string, now: number, until: number) => Promise<LeaseResult>;
