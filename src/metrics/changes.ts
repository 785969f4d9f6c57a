import type { SeriesWindow } from "./series-store.js";

/** Told as `begin` before a write starts, as `end` when it is done or has failed. */
export type ChangePhase = "begin" | "end";

/**
 * PORT. News of writes, so that no cache hands out what has been replaced. Embedded it never leaves the process; on
 * servers it reaches the other processes.
 */
export interface Changes {
  /**
   * Tells every listener that these windows may differ from now on; resolves when those in other processes have heard it
   * too, or no longer trust what they hold. A writer answers its caller only after `end` has resolved.
   */
  announce(phase: ChangePhase, windows: readonly SeriesWindow[]): Promise<void>;
  /** Calls `listener` for each announcement, in order. */
  listen(listener: (phase: ChangePhase, windows: readonly SeriesWindow[]) => void): void;
  /**
   * A number that goes up whenever announcements of others may have been missed: nothing cached under another number may be
   * used. Undefined while they may be missed: then nothing cached may be used at all.
   */
  era(): number | undefined;
}
