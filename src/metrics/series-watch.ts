import type { Changes } from "./changes.js";
import { seriesKey } from "./series.js";
import type { SeriesWindow } from "./series-store.js";

/** A look at one series, from its opening on. */
export interface Look {
  readonly key: string;
  readonly era: number | undefined;
  spoiled: boolean;
}

/** What holds copies of series, and lets go of them. */
export interface SeriesHolder {
  drop(key: string, window: SeriesWindow): void;
  dropAll(): void;
}

/**
 * Knows which series are being written, so that what was read before or during a write is never kept as if it were read
 * after it. Holders are told to drop what they have at the beginning of a write and again at its end.
 */
export class SeriesWatch {
  readonly #changes: Changes;
  readonly #holders: SeriesHolder[] = [];
  /** How many writes of each series are under way. */
  readonly #writing = new Map<string, number>();
  readonly #looks = new Map<string, Set<Look>>();
  #era: number | undefined;

  constructor(changes: Changes) {
    this.#changes = changes;
    this.#era = changes.era();
    changes.listen((phase, windows) => {
      for (const window of windows) this.#hear(phase, window);
    });
  }

  addHolder(holder: SeriesHolder): void {
    this.#holders.push(holder);
  }

  /**
   * Whether copies may be used now. Call it before using any; what is not valid any more is dropped by it. While there is no
   * era they are kept: they are valid again if the same one comes back.
   */
  trusted(): boolean {
    const era = this.#changes.era();
    if (era !== undefined && era !== this.#era) {
      for (const holder of this.#holders) holder.dropAll();
      this.#era = era;
    }
    return era !== undefined;
  }

  /** Starts to look at a series; end it with `close`. */
  open(key: string): Look {
    const look: Look = { key, era: this.#changes.era(), spoiled: this.#writing.has(key) };
    const looks = this.#looks.get(key);
    if (looks === undefined) this.#looks.set(key, new Set([look]));
    else looks.add(look);
    return look;
  }

  /** Whether what was read since the look was opened is what every later reader has to see, until the next announcement. */
  isFresh(look: Look): boolean {
    return !look.spoiled && look.era !== undefined && look.era === this.#changes.era();
  }

  close(look: Look): void {
    const looks = this.#looks.get(look.key);
    looks?.delete(look);
    if (looks?.size === 0) this.#looks.delete(look.key);
  }

  #hear(phase: "begin" | "end", window: SeriesWindow): void {
    const key = seriesKey(window.series);
    const writes = (this.#writing.get(key) ?? 0) + (phase === "begin" ? 1 : -1);
    if (writes > 0) this.#writing.set(key, writes);
    else this.#writing.delete(key);
    for (const look of this.#looks.get(key) ?? []) look.spoiled = true;
    for (const holder of this.#holders) holder.drop(key, window);
  }
}
