import { ServiceError } from "./errors.js";

/** The memory that one request has reserved, until its response is sent or its caller has disconnected. */
export interface Reservation {
  /** Reserves bytes. Throws when the budget has too few left, or the caller has disconnected. */
  reserve(bytes: number): void;
  /** Releases some of the bytes before the request ends. */
  release(bytes: number): void;
  /** Reports that the work has ended and only a response of so many bytes is left. Throws as `reserve` does. */
  keepResponse(bytes: number): void;
  /** Throws when the caller has disconnected. */
  refuseIfOver(): void;
  /** Reports that a part of the request is done, which restarts its deadline. Throws when the deadline has passed. */
  progressed(): void;
}

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
   * disconnected.
   */
  open(whenOver: (then: () => void) => void, progressed: () => void = () => {}): Reservation {
    let own = 0;
    // Undefined until something is reserved: most responses come from the cache and reserve nothing.
    let isOver: boolean | undefined;

    const add = (bytes: number) => {
      own += bytes;
      this.#reserved += bytes;
    };
    const refuseIfOver = () => {
      if (isOver) throw new ServiceError("timed-out", "The caller has disconnected");
    };
    const end = () => {
      isOver = true;
      add(-own);
    };

    const reserve = (bytes: number) => {
      if (isOver === undefined) {
        isOver = false;
        whenOver(end);
      }
      refuseIfOver();
      if (bytes > 0 && this.#reserved > own && this.#reserved + bytes > this.#limit) throw exhausted();
      add(bytes);
    };

    return {
      reserve,
      release: (bytes) => {
        if (!isOver) add(-bytes);
      },
      keepResponse: (bytes) => {
        const kept = bytes > UNCOUNTED_BYTES ? bytes : 0;
        if (kept !== own) reserve(kept - own);
      },
      refuseIfOver,
      progressed,
    };
  }
}

function exhausted(): ServiceError {
  return new ServiceError("unavailable", "Requests in progress take all the memory that they may; try again", {
    retryAfter: 1,
  });
}
