import type { Dimension } from "./dimensions/dimension.js";
import type { Series, SlotColumn } from "./series.js";

/** One slot of a series. */
export interface SeriesSlot {
  readonly series: Series;
  /** Start of the slot, Unix ms. */
  readonly slot: number;
}

/** A value for one slot of a series. */
export interface SlotSample extends SeriesSlot {
  readonly value: number;
}

/** A value that is kept for one slot and may not be in the series store yet. */
export interface SlotClaim extends SlotSample {
  /** False: whether somebody else has written the slot is to be looked up first, and confirmed. */
  readonly confirmed: boolean;
}

/**
 * PORT. Whose slot it is: one recorder writes, and what somebody wrote through points is theirs. Any number of processes may
 * call at once; each slot changes as if they came one after the other.
 */
export interface SlotClaims {
  /**
   * Takes or renews the lease `name` for `owner` from `now` until `until` (Unix ms), unless another holds it at `now`. A lease
   * that begins after `now` was taken by a clock that has since been set back, and holds nobody off.
   */
  lease(name: string, owner: string, now: number, until: number): Promise<boolean>;

  /**
   * Claims slots with their values for the recorder. The first value of a slot stays; with `grows` the largest stays, and a
   * larger one makes the claim unsettled again. A slot that was given away is never claimed. Resolves, when it survives a
   * crash, with what is kept for those slots that are the recorder's and not settled. Safe to repeat.
   */
  claim(samples: readonly SlotSample[], options?: { grows: boolean }): Promise<SlotClaim[]>;

  /** Those of these slots that are the recorder's, settled or not, with the value kept; slots given away are left out. */
  claimed(slots: readonly SeriesSlot[]): Promise<SlotSample[]>;

  /**
   * Notes that these slots held nothing in the series store when it was looked at after they were claimed. Resolves with what
   * is kept for those that still are the recorder's and not settled: they may be written. Safe to repeat.
   */
  confirm(slots: readonly SeriesSlot[]): Promise<SlotSample[]>;

  /** Forgets those of these claims that are not confirmed: the slots hold what somebody else wrote. Safe to repeat. */
  withdraw(slots: readonly SeriesSlot[]): Promise<void>;

  /**
   * Notes that the recorder has written these values to the series store. Resolves with what is kept for those slots for which
   * that is another value by now, a larger one or that of whoever the slot was given to: the write may have covered it, so it
   * is unsettled until it has been written too. Safe to repeat.
   */
  settle(samples: readonly SlotSample[]): Promise<SlotSample[]>;

  /**
   * What is not settled for these dimensions, oldest slot first, at most `limit`: a recorder died after its claim. Of slots that
   * were given away in the meantime the value of whoever they were given to.
   */
  unsettled(dimensions: readonly Dimension[], limit: number): Promise<SlotClaim[]>;

  /**
   * Gives the slots that the recorder has claimed to whoever writes these columns through points, for good, and keeps their
   * values with them: also where a slot was given away before. Resolves with those that were the recorder's until now. Slots
   * that are NaN, or without a claim, are left alone (a value in the series store without a claim says as much), so that a
   * load of series that were never recorded costs one probe each. Safe to repeat.
   */
  giveAway(columns: readonly SlotColumn[]): Promise<SeriesSlot[]>;

  /** Forgets claims of these dimensions for slots that start before `before`, unless they are unsettled. Safe to repeat. */
  forget(dimensions: readonly Dimension[], before: number): Promise<void>;
}
