import { groupedCalls } from "../../async/grouped-calls.js";
import { type Background, inBackground } from "../../async/retry.js";
import { withTimeLimit } from "../../async/time-limit.js";
import { ServiceError } from "../../errors.js";
import type { SharedCounts, SharedGenerations } from "../ports.js";

/** Interval between reads of the shared counts, and time limit of a read, ms. */
const POLL_MS = 400;
const READ_LIMIT_MS = 1_000;

/** Time after the start of the last successful read during which the counts are valid, ms. */
const RELIED_ON_MS = 900;

/** Maximum generations in one announcement. */
const MAX_ANNOUNCED = 10_000;

/**
 * Announces writes to the other processes over the same stores, and receives theirs. A writer increments the shared
 * counts after its write and before its answer. Every process polls the counts, so either it has received every write
 * answered a second ago, or it knows that its counts are out of date.
 */
export class SharedInvalidation {
  readonly #shared: SharedGenerations;
  /** Announces writes to these generations. Resolves when every later poll of any process receives them. */
  readonly announce: (at: readonly number[]) => Promise<void>;
  #raise: (at: readonly number[]) => void = () => {};
  readonly #learnOrder: (order: number) => void;
  #version = 0;
  readonly #counts = new Map<number, number>();
  /** Start of the last successful read, ms of `performance.now`. */
  #readAt = Number.NEGATIVE_INFINITY;
  readonly #polling: Background;

  /** `deadlineMs` is the maximum wait of an announcement. `learnOrder` receives the order of writes. */
  constructor(shared: SharedGenerations, deadlineMs: number, learnOrder: (order: number) => void = () => {}) {
    this.#shared = shared;
    this.#learnOrder = learnOrder;
    // Concurrent writes share one update.
    this.announce = groupedCalls(
      async (at: readonly number[]) => this.#receive(await this.#shared.increment(new Set(at))),
      { most: MAX_ANNOUNCED, atOnce: 1, deadline: { ms: deadlineMs, error: unannounced } },
    );
    this.#polling = inBackground(() => this.#poll());
  }

  /** Calls `raise` with the generations that any process has announced. */
  listen(raise: (at: readonly number[]) => void): void {
    this.#raise = raise;
  }

  /** Returns whether the known generations include every write answered a second ago. */
  isReliable(): boolean {
    return performance.now() - this.#readAt <= RELIED_ON_MS;
  }

  /** Resolves when no read is in progress. */
  close(): Promise<void> {
    return this.#polling.stop();
  }

  /** Resolves with the pause after a read, ms. */
  async #poll(): Promise<number> {
    const startedAt = performance.now();
    await withTimeLimit(READ_LIMIT_MS, [], () => this.#read(startedAt)).catch(() => {});
    return Math.max(0, startedAt + POLL_MS - performance.now());
  }

  /** A late response is still valid as of the start of its read. */
  async #read(startedAt: number): Promise<void> {
    const changed = await this.#shared.read(this.#version);
    if (changed !== undefined) {
      this.#receive(changed);
      this.#version = changed.version;
    }
    this.#readAt = Math.max(this.#readAt, startedAt);
  }

  /** Raises the generations whose counts differ from the known ones. */
  #receive({ counts, order }: SharedCounts): void {
    this.#learnOrder(order);
    const changed = [...counts].filter(([index, count]) => this.#counts.get(index) !== count);
    for (const [index, count] of changed) this.#counts.set(index, count);
    this.#raise(changed.map(([index]) => index));
  }
}

function unannounced(): ServiceError {
  return new ServiceError("unavailable", "The write could not be announced to the other processes in time; try again");
}
