/**
 * A number that goes up when announcements may have been missed, at once and again `lifeMs` later: a write that was under way
 * in between, and of which nothing was heard because its writer died, has reached the store by then or never will.
 * Times are ms of one clock that only goes up.
 */
export class Era {
  readonly #lifeMs: number;
  #number = 0;
  #againAt = Number.POSITIVE_INFINITY;

  constructor(lifeMs: number) {
    this.#lifeMs = lifeMs;
  }

  missed(now: number): void {
    this.#number += 1;
    this.#againAt = now + this.#lifeMs;
  }

  at(now: number): number {
    if (now > this.#againAt) {
      this.#number += 1;
      this.#againAt = Number.POSITIVE_INFINITY;
    }
    return this.#number;
  }
}
