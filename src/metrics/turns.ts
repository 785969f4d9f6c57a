import { setImmediate } from "node:timers/promises";

/** Long work in turns, so that others get theirs. */
export class Turns {
  readonly #length: number;
  #done = 0;

  /** `length` is how much work is done in one turn, in units of the caller's choice. */
  constructor(length: number) {
    this.#length = length;
  }

  /** Notes work; what it hands out, if anything, is to be awaited before more is done. */
  after(work: number): Promise<void> | undefined {
    this.#done += work;
    if (this.#done < this.#length) return undefined;
    this.#done = 0;
    return setImmediate();
  }
}
