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
