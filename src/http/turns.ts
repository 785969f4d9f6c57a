import type { NewConnections } from "../async/yielding.js";
import { ServiceError } from "../errors.js";

/** Requests that may work at once however busy the processor is: so many share commits, reads and round trips, and more would gain nothing. */
const WORKING = 64;

/** Requests that may wait in any case. */
const WAITING = 64;

/** What one round of the event loop may take before a request more has to wait for the next round, ms. */
const ROUND_MS = 10;

/** A round that took less has found nothing to do, ms: the requests under way wait for something else than the processor. */
const IDLE_ROUND_MS = 1;

/** Time is counted in steps of this length, ms, one a round at most: a process that stands still does not make requests late. */
const STEP_MS = 100;

/** Steps after which a request that still waits is late. */
const LATE_STEPS = 10;

/** A request that waits. */
interface Waiting {
  readonly since: number;
  begin(): void;
}

/**
 * Decides when the work of each request begins, in the order of arrival. `WORKING` requests may work at once. More begin only while
 * the processor is idle: hundreds can then wait for a database at one time, and a busy process takes on no more than it can do. Each
 * round of the event loop begins work for `ROUND_MS` at most, and then serves the network.
 */
export class Turns {
  readonly #queue: Waiting[] = [];
  readonly #connectionCame: () => boolean;
  #working = 0;
  /** When the round began (performance.now), as far as it is known. */
  #roundBegan = 0;
  /** Whether this round may begin one request more than `WORKING`. */
  #isExtra = false;
  #isDue = false;
  #steps = 0;
  #stepBegan = 0;
  #hasEnded = false;

  constructor(connections: NewConnections) {
    this.#connectionCame = connections.watch();
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Whether requests have waited so long that a new one is better refused: its caller comes back sooner than it would be served. */
  get isBehind(): boolean {
    const first = this.#queue[0];
    return first !== undefined && this.#queue.length >= WAITING && this.#steps - first.since >= LATE_STEPS;
  }

  /**
   * Takes a turn: undefined when the work may begin at once, else it may when the promise resolves. It rejects with `timed-out` when the caller goes
   * before, which `whenGone` tells. The caller ends the turn by `end`.
   */
  next(whenGone: (then: () => void) => void): Promise<void> | undefined {
    if (this.#queue.length === 0 && this.#working < WORKING && performance.now() - this.#roundBegan < ROUND_MS) {
      this.#working += 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const waiting = { since: this.#steps, begin: resolve };
      this.#queue.push(waiting);
      whenGone(() => {
        const at = this.#queue.indexOf(waiting);
        if (at < 0) return;
        this.#queue.splice(at, 1);
        reject(new ServiceError("timed-out", "The caller has gone"));
      });
      this.#atNextRound();
    });
  }

  /** Ends a turn. */
  end(): void {
    this.#working -= 1;
    this.#hasEnded = true;
  }

  #atNextRound(): void {
    if (this.#isDue || this.#queue.length === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#beginRound();
    });
  }

  #beginRound(): void {
    const now = performance.now();
    this.#isExtra = now - this.#roundBegan < IDLE_ROUND_MS;
    this.#roundBegan = now;
    if (now - this.#stepBegan >= STEP_MS) {
      this.#stepBegan = now;
      this.#steps += 1;
      // All that work may be waiting for slow senders, while something else keeps the processor busy.
      if (!this.#hasEnded) this.#isExtra = true;
      this.#hasEnded = false;
    }
    if (this.#connectionCame()) this.#atNextRound();
    else this.#beginSome();
  }

  /** Lets the first begin, then those behind it, one by one, for as long as the round may take. */
  #beginSome(): void {
    const mayBegin = this.#working < WORKING || this.#isExtra;
    const first = mayBegin && performance.now() - this.#roundBegan < ROUND_MS ? this.#queue.shift() : undefined;
    if (first === undefined) {
      this.#atNextRound();
      return;
    }
    if (this.#working >= WORKING) this.#isExtra = false;
    this.#working += 1;
    first.begin();
    // A tick that a microtask asks for comes after everything that the request can do without waiting.
    queueMicrotask(() => process.nextTick(() => this.#beginSome()));
  }
}
