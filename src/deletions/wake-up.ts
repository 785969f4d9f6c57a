/** PORT. A hint that a deletion can be run. May be lost, doubled or late: the ledger decides what is open, the sweeper finds it. */
export interface WakeUp {
  /** Never rejects and never waits for a store that is away. */
  hint(requestId: string): void;
  /** Calls `run` for each hint. */
  listen(run: (requestId: string) => Promise<void>): void;
  /** Stops listening; resolves when no run is under way. */
  close(): Promise<void>;
}
