/** Rounds that may go by, one after the other, before work goes on in any case. */
const MOST_ROUNDS = 50;

/**
 * New connections, for work that is done in rounds of the event loop. The loop accepts one connection in a round, so while they come,
 * rounds without such work have to go by: otherwise each connection waits for a part of the work.
 */
export class NewConnections {
  #accepted = 0;

  /** Counts one that the loop has accepted. */
  accept(): void {
    this.#accepted += 1;
  }

  /** For one kind of work: whether a connection has come since the last round, so that this round is not for the work. */
  watch(): () => boolean {
    let seen = 0;
    let rounds = 0;
    return () => {
      const isNew = this.#accepted !== seen && rounds < MOST_ROUNDS;
      seen = this.#accepted;
      rounds = isNew ? rounds + 1 : 0;
      return isNew;
    };
  }
}
