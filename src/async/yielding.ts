/**
 * Long work of all requests, one part after another: between any two parts the process serves the network, however many
 * requests have work left.
 */
export class YieldBudget {
  readonly #waiting: (() => void)[] = [];
  /** Parts that are begun and pause. */
  readonly #paused: (() => void)[] = [];
  readonly #connectionCame: () => boolean;
  #isServing = false;

  constructor(connections: NewConnections) {
    this.#connectionCame = connections.watch();
  }

  /** Resolves when the next part of a piece of work may be done, in the order of the calls. A part takes 20 ms at most. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#serve();
    });
  }

  /**
   * Pauses in one part, awaited between two of its steps: whenever `ms` have passed since the last, the network is served, and then the part goes on
   * before all that are not begun, in the order of the pauses. What is begun and not finished takes memory.
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

  /** Lets one caller go on in each round of the event loop. */
  #serve(): void {
    if (this.#isServing || this.#waiting.length + this.#paused.length === 0) return;
    this.#isServing = true;
    setImmediate(() => {
      this.#isServing = false;
      if (!this.#connectionCame()) (this.#paused.shift() ?? this.#waiting.shift())?.();
      this.#serve();
    });
  }
}

/**
 * Splits long work into parts: awaited between two steps, it lets other requests run whenever `ms` have passed since they last
 * could. Each piece of work has a pacer of its own.
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

/** How long work is put off at a time, ms, while connections come in each round. */
const MOST_MS = 10;

/**
 * New connections, for work that is done in rounds of the event loop. The loop accepts one connection in a round, so while they come,
 * rounds without such work have to go by: otherwise each connection waits for a part of the work.
 */
export class NewConnections {
  readonly #now: () => number;
  #accepted = 0;

  /** `now` is in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one that the loop has accepted. */
  accept(): void {
    this.#accepted += 1;
  }

  /** For one kind of work: whether a connection has come since the last round, so that this round is not for the work. */
  watch(): () => boolean {
    let seen = 0;
    let since: number | undefined;
    return () => {
      const isNew = this.#accepted !== seen;
      seen = this.#accepted;
      if (isNew) since ??= this.#now();
      if (isNew && this.#now() - (since ?? 0) < MOST_MS) return true;
      since = undefined;
      return false;
    };
  }
}
