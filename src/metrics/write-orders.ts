import { singleFlight } from "../async/single-flight.js";
import type { WriteOrder } from "./ports.js";

/**
 * Orders of the writes of this process to one source. A write gets a higher order than every write that was abandoned
 * before, by any process, so that an abandoned write that the store executes late replaces no newer value. The order is
 * raised only when that is necessary, because a slot is stored once for each order.
 */
export class WriteOrders {
  readonly #raise: () => Promise<void>;
  /** The newest known order. */
  #newest = 0;
  /** The store may still execute writes up to this order: at the start, writes of processes that were killed. */
  #abandoned = 0;

  /** `raise` is a `RaiseOrder`. */
  constructor(raise: () => Promise<number>) {
    // Otherwise concurrent writes would raise it one after another, and all but the last of them be repeated.
    this.#raise = singleFlight(async () => this.learn(await raise()));
  }

  /** Returns the order of a write that begins now, after raising it if necessary. Rejects as `RaiseOrder` does. */
  async begin(): Promise<WriteOrder> {
    while (this.#newest <= this.#abandoned) await this.#raise();
    const number = this.#newest;
    return { number, abandon: () => this.abandon(number) };
  }

  /** Receives the order that another process may have raised. */
  learn(order: number): void {
    this.#newest = Math.max(this.#newest, order);
  }

  /**
   * Resolves when every later write of any process has a higher order than this one; by default than all earlier
   * writes. If it rejects, the next write of this process raises the order.
   */
  async abandon(order: number = this.#newest): Promise<void> {
    this.#abandoned = Math.max(this.#abandoned, order);
    await this.begin();
  }
}
