/**
 * The sum of the points of one slot as a double and the rest that it lacks, so that the order of the points, and a
 * point that is replaced by a much smaller one, do not change the sum (Neumaier, "Rundungsfehleranalyse einiger
 * Verfahren zur Summation endlicher Summen", ZAMM 1974).
 */
export class SlotSum {
  /** Number of the series. */
  readonly series: number;
  /** The slot, counted from 1970, and its start, Unix ms. */
  readonly slot: number;
  readonly start: number;
  /** The rest that is stored. */
  storedRest: number;
  #sum: number;
  #rest: number;

  constructor(place: { readonly series: number; readonly slot: number; readonly start: number }, sum = 0, rest = 0) {
    this.series = place.series;
    this.slot = place.slot;
    this.start = place.start;
    this.storedRest = rest;
    this.#sum = sum;
    this.#rest = rest;
  }

  add(value: number): void {
    const sum = this.#sum + value;
    this.#rest += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
  }

  /** Returns the sum, rounded, and its rest; not finite if the sum is beyond the range of a double. */
  round(): { readonly sum: number; readonly rest: number } {
    const sum = this.#sum + this.#rest;
    const added = sum - this.#sum;
    const rest = this.#sum - (sum - added) + (this.#rest - added);
    this.#sum = sum;
    this.#rest = rest;
    return { sum, rest };
  }
}
