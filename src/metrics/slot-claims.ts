import type { Series } from "./series.js";
import type { SeriesWindow } from "./series-store.js";

/** A value that the recorder took for one slot of a series. */
export interface SlotSample {
  readonly series: Series;
  /** Start of the slot, Unix ms. */
  readonly slot: number;
  readonly value: number;
}

/** PORT. Whose slot it is: one recorder writes, and what somebody wrote through points is theirs. */
export interface SlotClaims {
  /** Takes or renews the lease `name` for `owner` until `until` (Unix ms), unless another holds it at `now`. */
  lease(name: string, owner: string, now: number, until: number): Promise<boolean>;

  /** Which of these slots the recorder has claimed, with the value kept for each; slots given away are left out. */
  claimed(series: readonly Series[], slot: number): Promise<SlotSample[]>;

  /**
   * Claims slots with their values. The first claim of a slot stays unless `replace` is set; a slot that was given away
   * is never claimed. Resolves with what is kept for the slots that are the recorder's. Safe to repeat.
   */
  claim(samples: readonly SlotSample[], options?: { replace: boolean }): Promise<SlotSample[]>;

  /** Notes that these claims are in the series store. Safe to repeat. */
  settle(samples: readonly SlotSample[]): Promise<void>;

  /** Claims not settled yet, oldest first, at most `limit`: a recorder died between claim and write. */
  unsettled(limit: number): Promise<SlotSample[]>;

  /** Gives slots that the recorder has claimed, or may claim at or after `now`, to whoever writes them through points. */
  giveAway(windows: readonly SeriesWindow[]): Promise<void>;
}
