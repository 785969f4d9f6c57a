/** PORT. A hint that a deletion can be run. May be lost, doubled or late: the ledger decides what is open, the sweeper finds it. */
export interface WakeUp {
  /**
   * Tells one of the listeners now, or after `delayMs`. Hints of one request for about the same moment may become one; a hint for later never
   * keeps back one for an earlier moment, also when it is given while the request runs. Never rejects and never waits for a store that is away.
   */
  hint(requestId: string, delayMs?: number): void;
  /** Calls `run` for each hint. */
  listen(run: (requestId: string) => Promise<void>): void;
  /** Stops listening; resolves when no run is under way. */
  close(): Promise<void>;
}
