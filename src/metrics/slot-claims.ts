import type { Dimension } from "./dimensions/dimension.js";
import type { Series } from "./series.js";
import type { SeriesWindow } from "./series-store.js";

/** One slot of a series. */
export interface SeriesSlot {
  readonly series: Series;
  /** Start of the slot, Unix ms. */
  readonly slot: number;
}

/** A value that the recorder took for one slot of a series. */
export interface SlotSample extends SeriesSlot {
  readonly value: number;
}

/** PORT. Whose slot it is: one recorder writes, and what somebody wrote through points is theirs. */
export interface SlotClaims {
  /**
   * Takes or renews the lease `name` for `owner` from `now` until `until` (Unix ms), unless another holds it at `now`. A lease
   * that begins after `now` was taken by a clock that has since been set back, and holds nobody off.
   */
  lease(name: string, owner: string, now: number, until: number): Promise<boolean>;

  /** Those of these slots that the recorder has claimed, with the value kept; slots given away are left out. */
  claimed(slots: readonly SeriesSlot[]): Promise<SlotSample[]>;

  /**
   * Claims slots with their values. The first value of a slot stays; with `grows` the largest stays, and a larger one makes
   * the claim unsettled again. A slot that was given away is never claimed. Resolves, when it survives a crash, with what is
   * kept for the slots that are the recorder's. Safe to repeat.
   */
  claim(samples: readonly SlotSample[], options?: { grows: boolean }): Promise<SlotSample[]>;

  /**
   * Notes that these values have been written to the series store. A claim that keeps another value by now becomes
   * unsettled, as the write may have covered a newer one. Safe to repeat.
   */
  settle(samples: readonly SlotSample[]): Promise<void>;

  /** Claims not settled for these dimensions, oldest slot first, at most `limit`: a recorder died between claim and write. */
  unsettled(dimensions: readonly Dimension[], limit: number): Promise<SlotSample[]>;

  /**
   * Gives the slots that the recorder has claimed in these windows to whoever wrote them through points, for good. Slots
   * without a claim are left alone (a value in the series store without a claim says as much), so that a load of series
   * that were never recorded costs one probe each. Safe to repeat.
   */
  giveAway(windows: readonly SeriesWindow[]): Promise<void>;

  /** Forgets claims of these dimensions for slots that start before `before`, unless they are unsettled. Safe to repeat. */
  forget(dimensions: readonly Dimension[], before: number): Promise<void>;
}
