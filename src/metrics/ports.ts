import type { Dimension } from "./dimensions.js";
import type { AddedPoints, Series, SlotColumn } from "./series.js";

/** A window of one series. `from` and `to` are slot boundaries, Unix ms; the window is [from, to). */
export interface SeriesWindow {
  readonly series: Series;
  readonly from: number;
  readonly to: number;
}

/** Returns the number of slots of a window. */
export function slotsIn({ series, from, to }: SeriesWindow): number {
  return (to - from) / series.dimension.slotMs;
}

/** The writers that set the value of a slot. */
export const settingSources = ["clients", "recorder"] as const;

export type SettingSource = (typeof settingSources)[number];

/**
 * The origin of a value: set by a writer, or the sum of added points. Each value source of a series has its own slots;
 * writes to another source do not change them.
 */
export type ValueSource = SettingSource | "added";

/** All sources; a value of an earlier one takes precedence. */
export const valueSources: readonly ValueSource[] = ["clients", "added", "recorder"];

/** Ids that begin with `prefix` and contain `contains`, a `searchText`. */
export interface ListedIds {
  readonly prefix: string;
  readonly contains?: string;
}

/**
 * The order of a write. A store that may execute a write after it has rejected it keeps the value of the highest order,
 * and of equal orders the last one.
 */
export interface WriteOrder {
  /** An integer of at least 0, less than the length of the shortest slot in ns. */
  readonly number: number;
  /** Start of the write, ms of `performance.now`, from which the store counts its deadline; the call if absent. */
  readonly since?: number;
  /** The store calls it before it settles a write that it may still execute later, and waits for it. */
  abandon(): Promise<void>;
}

/** PORT. Saved slots by series, of three value sources. Rejects as every store does: see `ToServiceError`. */
export interface SeriesStore {
  /**
   * Slots of one series that are stored together, counted from 1970: reading some of them costs nearly as much as
   * reading all. The cache reads and keeps chunks of this length.
   */
  readonly chunkSlots: number;

  /**
   * Stores every slot of the columns that is not NaN in this source and replaces stored values. If two columns of one
   * call have the same slot, the later one wins. Resolves when everything survives a crash. A call that rejects may
   * have stored a part, unless the engine is transactional, or may store it later, without replacing a value of a
   * higher order. It is safe to repeat. Rejects with `invalid` if a slot is older than the engine's own retention. Then
   * nothing is stored, unless the retention became shorter during the call. The default order is 0.
   */
  write(source: SettingSource, columns: readonly SlotColumn[], order?: WriteOrder): Promise<void>;

  /**
   * Stores points, each by its series, source and instant: one that is stored already is replaced. The value of a slot
   * in the source `added` is the sum of its points, up to rounding; the limit of doubles if it is beyond it. If a call
   * has a point twice, the later one wins. Resolves and rejects as `write` does; safe to repeat. Rejects with `invalid`
   * if a slot is settled. Then nothing is stored.
   */
  add(added: readonly AddedPoints[], order?: WriteOrder): Promise<void>;

  /**
   * Allows the store to keep only the sums of slots that start before `before` (Unix ms), of which it then refuses
   * further points. Changes no value; safe to repeat.
   */
  settle(before: number): Promise<void>;

  /**
   * Returns the slots of each window, in order: a column of exactly (to - from) / slotMs values, NaN where nothing is
   * saved, also for a series that was never written. A slot has the value of the first of `valueSources` that has one;
   * with `source`, only that source's. The series with its dimension's `sumId` is computed: in each slot the sum over
   * all series of the dimension and type, in memory for at most about 300,000 slots of any number of series. Sees every
   * write that resolved before the call; a sum also sees the writes of other processes. Rejects rather than return a
   * partial result.
   */
  read(windows: readonly SeriesWindow[], source?: ValueSource): Promise<Float64Array[]>;

  /**
   * Returns false if the series certainly does not exist: no write that resolved before the call named it. It is cheap;
   * an engine that would need a query returns true.
   */
  mayHold(series: Series): boolean;

  /**
   * Lists the ids of the dimension that have a point in any source, in the order of their UTF-8 bytes or,
   * `descending`, in the opposite order. Returns at most `limit` ids that are `among`, after the id `after`, each with
   * its stored types that have a point. Sees every write of this process that resolved before the call; writes of other
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
   * Removes slots of all sources that start before `before` (Unix ms), and may settle them. May keep some longer; a
   * rejected call may have removed some. Safe to repeat.
   */
  expire(before: number): Promise<void>;
}

/** Number of writes by generation; 0 for a missing generation. */
export type GenerationCounts = ReadonlyMap<number, number>;

/**
 * PORT. Raises the order of the writes of clients, or of recorders, and returns it when it survives a crash: at least 1
 * more than before, and at least the time of `orderClock` by the clock of the store, so that it is higher also after
 * older data was restored. Rejects as every store does: see `ToServiceError`; the order may have been raised then.
 */
export type RaiseOrder = (of: SettingSource) => Promise<number>;

/** Units of `unitMs` since `sinceMs`. At `untilMs`, where it stops, they are as many ns as 9.5 minutes have. */
export const orderClock = { sinceMs: Date.UTC(2020), untilMs: Date.UTC(2200), unitMs: 10 };

/** Counts by generation, and the order of the writes of clients. */
export interface SharedCounts {
  readonly counts: GenerationCounts;
  readonly order: number;
}

/**
 * PORT. Counts of the writes of series by generation, shared by all processes over the same stores. Rejects as every
 * store does: see `ToServiceError`.
 */
export interface SharedGenerations {
  /**
   * Adds 1 to each count. Resolves with the new counts when every later `read` returns them, and with the order of
   * every `RaiseOrder` that resolved before the call. A call that rejects may have added.
   */
  increment(at: ReadonlySet<number>): Promise<SharedCounts>;
  /**
   * Returns everything with its version; undefined if the version is unchanged. Sees every increment that resolved
   * before the call, in every process.
   */
  read(version: number): Promise<(SharedCounts & { readonly version: number }) | undefined>;
}

/** Messages of a stream in the slot that starts at `slot` (Unix ms), or people who joined or left a segment. */
export interface SlotCount {
  /** Name of the stream, or of another count: see `added-counts`. */
  readonly stream: string;
  readonly slot: number;
  readonly count: number;
  /**
   * State of the store when the count was read: `saved` detects by it that another recorder has saved the slot since.
   */
  readonly token?: unknown;
}

/** A stream that received messages. */
export interface CountedStream {
  readonly stream: string;
  /** Arrival of its newest message, Unix ms. Never decreases, also when messages are erased or expire. */
  readonly lastArrival: number;
}

/**
 * PORT. Counts of the messages of streams, and of the people who join and leave segments. Times are Unix ms. Rejects as
 * every store does: see `ToServiceError`.
 */
export interface SlotCounts {
  /**
   * Returns counts of slots starting before `before` that were never saved, or have grown since; oldest first, at most
   * `limit`.
   */
  unsaved(before: number, limit: number): Promise<SlotCount[]>;
  /**
   * Records saved counts. A count that has grown in between stays unsaved. So does a slot that another recorder saved
   * since this count was read, because either of the two may have been written last. Safe to repeat.
   */
  saved(counts: readonly SlotCount[]): Promise<void>;
  /** Returns streams that received messages, by name, after the stream `after`; at most `limit`. */
  streams(after: string | undefined, limit: number): Promise<CountedStream[]>;
  /**
   * Returns the messages of these streams in the slot that starts at `slot` (Unix ms); a stream without messages may be
   * absent.
   */
  counted(streams: readonly string[], slot: number): Promise<Map<string, number>>;
}

/**
 * `taken`: it was free. `renewed`: no other owner has held it since this owner took it. `refused`: another owner holds
 * it.
 */
export type LeaseResult = "taken" | "renewed" | "refused";

/**
 * PORT. Takes or renews the lease `name` for `owner` from `now` until `until` (Unix ms), unless another owner holds it
 * at `now`. A lease that begins after `now` was taken before the clock was set back, and has ended. Only one of several
 * concurrent callers gets it. Rejects as every store does: see `ToServiceError`; the lease may have been taken then.
 */
export type Lease = (name: string, owner: string, now: number, until: number) => Promise<LeaseResult>;

/** Fact of the profiles: the state of alerts, which is absent before their first evaluation. */
export const ALERTS = "alerts";
