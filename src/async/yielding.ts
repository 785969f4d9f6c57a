/**
 * Long work of all requests, one part after another: between any two parts the process serves the network, however many
 * requests have work left.
 */
export class YieldBudget {
  readonly #waiting: (() => void)[] = [];
  #isServing = false;

  /** Resolves when the next part of a piece of work may be done, in the order of the calls. A part takes 50 ms at most. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isServing) this.#serve();
    });
  }

  /** Lets one caller go on in each round of the event loop. */
  #serve(): void {
    this.#isServing = this.#waiting.length > 0;
    if (!this.#isServing) return;
    setImmediate(() => {
      this.#waiting.shift()?.();
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
