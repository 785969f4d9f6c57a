/** PORT. Calls at which the recorder should look, besides those of its own timer: they may be lost, doubled or late. */
export interface Ticks {
  /** Calls `tick` shortly after each full hour, UTC. */
  listen(tick: () => void): void;
  /** Resolves when no more calls will come. */
  close(): Promise<void>;
}
