import { ServiceError } from "./errors.js";

/**
 * Bodies and responses up to this size are neither counted nor refused, bytes: the limit of requests in flight bounds
 * them.
 */
export const UNCOUNTED_BYTES = 65_536;

/** Estimated memory that reads, bodies and unsent responses may take together. */
export class MemoryBudget {
  readonly #limit: number;
  #reserved = 0;

  /** `limit` is in bytes. A request that holds the only reservation may exceed it. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Reserved bytes. */
  get reserved(): number {
    return this.#reserved;
  }

  /**
   * Makes the reservation of one request. `whenOver` calls back once, when the response is sent or the caller has
   * disconnected. `restart` restarts the request's deadline; it returns false when the deadline has passed.
   */
  open(whenOver: (then: () => void) => void, restart: () => boolean = () => true): Reservation {
    return new Reservation(this, whenOver, restart);
  }

  /** Runs work that no request's end limits, with a reservation that ends with the work. */
  async within<T>(work: (memory: Reservation) => Promise<T>): Promise<T> {
    let end = () => {};
    const memory = this.open((then) => {
      end = then;
    });
    try {
      return await work(memory);
    } finally {
      end();
    }
  }

  /** Adds bytes to a reservation that holds `own`. Throws when too few are left. */
  add(bytes: number, own: number): void {
    if (bytes > 0 && this.#reserved > own && this.#reserved + bytes > this.#limit) throw exhausted();
    this.#reserved += bytes;
  }
}

/** The memory that one request has reserved, until its response is sent or its caller has disconnected. */
export class Reservation {
  readonly #budget: MemoryBudget;
  readonly #restart: () => boolean;
  #own = 0;
  #isOver = false;

  constructor(budget: MemoryBudget, whenOver: (then: () => void) => void, restart: () => boolean) {
    this.#budget = budget;
    this.#restart = restart;
    whenOver(() => {
      this.#isOver = true;
      this.#add(-this.#own);
    });
  }

  /** Reserves bytes. Throws when the budget has too few left, or the caller has disconnected. */
  reserve(bytes: number): void {
    this.refuseIfOver();
    this.#add(bytes);
  }

  /** Reserves bytes unless they are few; returns their release. */
  reserveUnlessSmall(bytes: number): () => void {
    if (bytes <= UNCOUNTED_BYTES) return () => {};
    this.reserve(bytes);
    return () => this.release(bytes);
  }

  /** Releases some of the bytes before the request ends. */
  release(bytes: number): void {
    if (!this.#isOver) this.#add(-bytes);
  }

  /** Reports that the work has ended and only a response of `bytes` is left. Throws as `reserve` does. */
  keepResponse(bytes: number): void {
    const kept = bytes > UNCOUNTED_BYTES ? bytes : 0;
    if (kept !== this.#own) this.reserve(kept - this.#own);
  }

  /** Throws when the caller has disconnected. */
  refuseIfOver(): void {
    if (this.#isOver) throw requestOver();
  }

  /** Reports that a part of the request is done, which restarts its deadline. Throws when the deadline has passed. */
  progressed(): void {
    if (!this.#restart()) throw requestOver();
  }

  #add(bytes: number): void {
    this.#budget.add(bytes, this.#own);
    this.#own += bytes;
  }
}

/** The error of work whose request has ended: its response is sent, or its caller has disconnected. */
function requestOver(): ServiceError {
  return new ServiceError("timed-out", "The request has ended");
}

function exhausted(): ServiceError {
  return new ServiceError("busy", "Requests in progress take all the memory that they may; try again", {
    retryAfter: 1,
  });
}
