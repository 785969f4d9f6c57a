/** Pause of work while new connections arrive in each round of the event loop, ms. */
const DEFERRED_MS = 10;

/**
 * Shares the rounds of the event loop between all requests. Long work runs one part per round, so the process serves
 * the network between any two parts, whatever the number of waiting requests. The event loop accepts one connection per
 * round, so rounds run without work while connections arrive; otherwise each of many new connections would wait for a
 * part.
 */
export class YieldBudget {
  readonly #waiting: (() => void)[] = [];
  /** Parts that have started and are paused. */
  readonly #paused: (() => void)[] = [];
  readonly #starting: (() => void)[] = [];
  #hasAccepted = false;
  #deferredSince: number | undefined;
  #isServing = false;

  /** Resolves when the next part of a piece of work may run, in the order of the calls. A part takes at most 20 ms. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#serve();
    });
  }

  /** Resolves in a later round, one call in each, also while parts of long work take all rounds. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#starting.push(resolve);
      this.#serve();
    });
  }

  /**
   * Pauses within one part, awaited between two of its steps: after each `ms` the network is served, and then paused
   * parts continue before new ones start, in the order of their pauses. Started work holds memory.
   */
  pauses(ms: number): () => Promise<void> | undefined {
    let since = performance.now();
    return () => {
      if (performance.now() - since < ms) return undefined;
      return new Promise((resolve) => {
        this.#paused.push(() => {
          since = performance.now();
          resolve();
        });
        this.#serve();
      });
    };
  }

  /** Reports that the event loop has accepted a connection. */
  connectionAccepted(): void {
    this.#hasAccepted = true;
  }

  #serve(): void {
    if (this.#isServing || this.#waiting.length + this.#paused.length + this.#starting.length === 0) return;
    this.#isServing = true;
    setImmediate(() => {
      this.#isServing = false;
      if (!this.#defersToConnections()) {
        this.#starting.shift()?.();
        (this.#paused.shift() ?? this.#waiting.shift())?.();
      }
      this.#serve();
    });
  }

  #defersToConnections(): boolean {
    const now = performance.now();
    const defers = this.#hasAccepted && now - (this.#deferredSince ?? now) < DEFERRED_MS;
    this.#deferredSince = defers ? (this.#deferredSince ?? now) : undefined;
    this.#hasAccepted = false;
    return defers;
  }
}

/**
 * Splits long work into parts: awaited between two steps, it lets other requests run after each `ms`. Each piece of
 * work has its own pacer.
 */
export function pacer(ms = 20): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < ms) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}
