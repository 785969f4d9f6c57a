import { ExactSum } from "../../../exact-sum.js";

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
