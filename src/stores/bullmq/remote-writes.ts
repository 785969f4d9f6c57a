import type { ChangePhase, Changes } from "../../metrics/changes.js";
import { seriesKey } from "../../metrics/series.js";
import type { SeriesWindow } from "../../metrics/series-store.js";

export type Tell = Parameters<Changes["listen"]>[0];

/** Writes of one window that have begun and not ended. */
interface OpenWrites {
  readonly window: SeriesWindow;
  count: number;
  /** When the last of them was heard of. */
  heardAt: number;
}

/**
 * What other processes write now. Listeners count beginnings and ends, so each beginning that is told here is followed by one
 * end: by the writer's own, or, `lifeMs` after its beginning, by one of ours. By then the write has reached the store
 * or never will, also when its writer died or its end was not heard. An end whose beginning was not heard is told with one.
 * Times are ms of one clock that only goes up.
 */
export class RemoteWrites {
  readonly #tell: Tell;
  readonly #lifeMs: number;
  readonly #open = new Map<string, Map<string, OpenWrites>>();

  constructor(tell: Tell, lifeMs: number) {
    this.#tell = tell;
    this.#lifeMs = lifeMs;
  }

  hear(process: string, phase: ChangePhase, windows: readonly SeriesWindow[], now: number): void {
    if (phase === "begin") this.#begin(process, windows, now);
    else this.#end(process, windows);
  }

  /** Ends what is too old to be still under way. */
  expire(now: number): void {
    for (const [process, writes] of this.#open) {
      const ended: SeriesWindow[] = [];
      for (const [key, { window, count, heardAt }] of writes) {
        if (now - heardAt <= this.#lifeMs) continue;
        writes.delete(key);
        for (let n = 0; n < count; n += 1) ended.push(window);
      }
      if (writes.size === 0) this.#open.delete(process);
      if (ended.length > 0) this.#tell("end", ended);
    }
  }

  #begin(process: string, windows: readonly SeriesWindow[], now: number): void {
    const writes = this.#open.get(process) ?? new Map<string, OpenWrites>();
    this.#open.set(process, writes);
    for (const window of windows) {
      const open = writes.get(keyOf(window));
      if (open === undefined) writes.set(keyOf(window), { window, count: 1, heardAt: now });
      else {
        open.count += 1;
        open.heardAt = now;
      }
    }
    this.#tell("begin", windows);
  }

  #end(process: string, windows: readonly SeriesWindow[]): void {
    const writes = this.#open.get(process);
    const unknown: SeriesWindow[] = [];
    for (const window of windows) {
      const key = keyOf(window);
      const open = writes?.get(key);
      if (open === undefined) unknown.push(window);
      else if (open.count > 1) open.count -= 1;
      else writes?.delete(key);
    }
    if (writes?.size === 0) this.#open.delete(process);
    if (unknown.length > 0) this.#tell("begin", unknown);
    this.#tell("end", windows);
  }
}

function keyOf({ series, from, to }: SeriesWindow): string {
  return `${seriesKey(series)}\0${from}\0${to}`;
}
