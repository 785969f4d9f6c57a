import { setImmediate } from "node:timers/promises";

/** The time now, Unix ms. Handed to whoever needs it, so that only this file asks the machine. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/**
 * Arrival times: Unix ms that only go up, in steps of at least 1/1024 ms, so that of two arrivals in one millisecond
 * the later one is larger. A double holds such a number exactly until the year 2248.
 */
export function arrivals(clock: Clock): Clock {
  let last = 0;
  return () => {
    last = Math.max(clock(), last + 1 / 1024);
    return last;
  };
}

/**
 * Splits long work into parts: awaited between two steps, it lets other requests run whenever `ms` have passed since they last
 * could. Each piece of work has a pacer of its own.
 */
export function pacer(ms = 20): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < ms) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
