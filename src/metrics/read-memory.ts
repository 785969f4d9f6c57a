import { ServiceError } from "../errors.js";

/** Calls `then` once, when the response is out or the caller has gone. */
export type WhenOver = (then: () => void) => void;

/** The memory that reads under way may take, all of them together. */
export class ReadMemory {
  readonly #most: number;
  #taken = 0;

  /** `most` is in bytes. A read that is the only one under way may take more. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes that reads under way take now, by estimate. */
  get taken(): number {
    return this.#taken;
  }

  /** Opens the account of one read. */
  open(whenOver: WhenOver): Reading {
    return new Reading(this, whenOver);
  }

  /** Adds to what a read that has `own` bytes takes. Throws `unavailable` when there is no room. */
  change(bytes: number, own: number): void {
    const others = this.#taken - own;
    if (bytes > 0 && others > 0 && this.#taken + bytes > this.#most) {
      throw new ServiceError("unavailable", "The reads under way take all the memory that they may; try again", {
        retryAfter: 1,
      });
    }
    this.#taken += bytes;
  }
}

/** What one read takes, until its response is out or its caller has gone. */
export class Reading {
  readonly #memory: ReadMemory;
  readonly #whenOver: WhenOver;
  #taken = 0;
  /** Undefined until something is taken: most answers come from memory and take nothing. */
  #isOver: boolean | undefined;

  constructor(memory: ReadMemory, whenOver: WhenOver) {
    this.#memory = memory;
    this.#whenOver = whenOver;
  }

  /** Takes bytes. Throws when there is no room, or no caller any more. */
  take(bytes: number): void {
    if (this.#isOver === undefined) this.#watch();
    this.refuseIfOver();
    this.#memory.change(bytes, this.#taken);
    this.#taken += bytes;
  }

  /** Gives some of them back before the read is over. */
  give(bytes: number): void {
    if (this.#isOver) return;
    this.#memory.change(-bytes, this.#taken);
    this.#taken -= bytes;
  }

  /** Throws when there is no caller any more to work for. */
  refuseIfOver(): void {
    if (this.#isOver) throw new ServiceError("timed-out", "The caller has gone");
  }

  #watch(): void {
    this.#isOver = false;
    this.#whenOver(() => {
      this.#isOver = true;
      this.#memory.change(-this.#taken, this.#taken);
      this.#taken = 0;
    });
  }
}
