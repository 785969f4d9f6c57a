import type { SeriesWindow } from "./series-store.js";

/**
 * PORT. News of writes, so that no cache hands out what has been replaced. Embedded it never leaves the process; on
 * servers it reaches the other processes.
 */
export interface Changes {
  /** Told before a write begins and again when it is done (or has failed): these windows may differ from now on. */
  announce(phase: "begin" | "end", windows: readonly SeriesWindow[]): Promise<void>;
  /** Calls `listener` for each announcement, in order. */
  listen(listener: (phase: "begin" | "end", windows: readonly SeriesWindow[]) => void): void;
  /** False while announcements of others may have been missed: then nothing cached may be used. */
  trusted(): boolean;
}
