import { setMaxListeners } from "node:events";

/**
 * Runs `work` with a signal that aborts after `ms`, or when one of `signals` does. Settles as `work` does, but rejects
 * with the reason when the signal aborts. A response that has arrived by then counts, even if this process was too busy
 * to read it. The timer is referenced here: garbage collection can drop an `AbortSignal.timeout`, or any other source,
 * that is referenced only by an `AbortSignal.any` (https://github.com/nodejs/node/issues/57736).
 */
export async function withTimeLimit<T>(
  ms: number,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (const signal of signals) signal.throwIfAborted();
  const limit = new AbortController();
  let late: NodeJS.Immediate | undefined;
  const expire = () => limit.abort(new DOMException(`No response within ${ms} ms`, "TimeoutError"));
  // Wait one round more, so that a response that has already arrived is still read.
  const timer = setTimeout(() => {
    late = setImmediate(expire);
  }, ms);
  const forward = ({ target }: Event) => limit.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    // Any number of calls may share a signal. Without a signal argument this would change the limit of all emitters of
    // the process.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", forward);
  }
  try {
    return await new Promise<T>((resolve, reject) => {
      limit.signal.addEventListener("abort", () => reject(limit.signal.reason));
      work(limit.signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    clearImmediate(late);
    for (const signal of signals) signal.removeEventListener("abort", forward);
  }
}

/** One time limit for work in several parts, between which it waits for its caller. */
export class Deadline {
  readonly #ms: number;
  readonly #errorOf: (cause: Error) => Error;
  #leftMs: number;
  /** Start of the time, ms of `performance.now`. */
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Set when the deadline has passed. */
  #error: Error | undefined;
  /** Created by the first use of `signal`: most work needs none. */
  #late: AbortController | undefined;
  #reject: (error: Error) => void = () => {};
  /** Called when the time is paused or continues. */
  onPause: (isPaused: boolean) => void = () => {};

  /** `errorOf` returns the error with which late work is rejected. */
  constructor(ms: number, errorOf: (cause: Error) => Error) {
    this.#ms = ms;
    this.#leftMs = ms;
    this.#errorOf = errorOf;
  }

  /** Aborts when the deadline has passed. */
  get signal(): AbortSignal {
    this.#late ??= new AbortController();
    if (this.#error !== undefined) this.#late.abort(this.#error);
    return this.#late.signal;
  }

  /** Settles as `work` does, or rejects when the deadline has passed. The time starts now. */
  async limit(work: () => Promise<void>): Promise<void> {
    this.resume();
    try {
      await new Promise<void>((resolve, reject) => {
        this.#reject = reject;
        work().then(resolve, reject);
      });
    } finally {
      // Work that is late still runs.
      this.onPause = () => {};
      this.pause();
    }
  }

  /** Pauses the time during a wait for the caller. */
  pause(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#leftMs -= performance.now() - this.#since;
    this.onPause(true);
  }

  /** Continues after `pause`. Throws when the deadline has passed. */
  resume(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#timer !== undefined) return;
    this.#since = performance.now();
    // Received data is read first, like in `withTimeLimit`.
    const timer = setTimeout(() => setImmediate(() => this.#expire(timer)), Math.max(1, this.#leftMs));
    this.#timer = timer;
    this.onPause(false);
  }

  /** Restarts the full time after a part of the work. Returns false when the deadline has passed. */
  restart(): boolean {
    if (this.#error !== undefined) return false;
    this.pause();
    this.#leftMs = this.#ms;
    this.resume();
    return true;
  }

  #expire(timer: NodeJS.Timeout): void {
    if (this.#timer !== timer) return;
    this.#error = this.#errorOf(new DOMException(`Not done within ${this.#ms} ms`, "TimeoutError"));
    this.#late?.abort(this.#error);
    this.#reject(this.#error);
  }
}
